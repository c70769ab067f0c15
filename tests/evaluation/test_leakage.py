"""Leakage: what probes find is what was planted; a linear one nothing after LEACE, a network what no line tells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from splade.errors import DataError
from splade.evaluation.concept_probes import Fitted, Matrix, linear_probe, mlp_probe
from splade.evaluation.estimate import Estimate
from splade.evaluation.leace import fit_leace_eraser
from splade.evaluation.leakage import (
    FOLDS,
    Leakage,
    ProbeLeakage,
    cross_fitted,
    fold_auroc,
    fold_numbers,
    measure_leakage,
)

TEXTS = 2_000  # with half of them positive, an interval of ± 0.025


def noise(columns: int = 5, texts: int = TEXTS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(texts, columns))


def test_a_linear_concept_is_found_and_after_leace_it_is_not() -> None:
    """Fitted on so many texts that what is left on others, some 0.01 of the area, is well below what counts."""
    features = noise(texts=12 * TEXTS)
    concept = np.random.default_rng(1).random(len(features)) < 0.5
    features[:, 1] += concept
    training, others = np.split(np.arange(len(features)), [10 * TEXTS])
    eraser = fit_leace_eraser(features[training], {"concept": concept[training]})
    before, after = (
        _area(linear_probe, rows, concept[others]) for rows in (features[others], eraser(features[others]))
    )
    assert before.found and not before.at_chance
    assert before.auroc.mean == pytest.approx(0.76, abs=0.03)  # Φ(1/√2): two normal variables a spread apart
    assert after.at_chance


def test_a_product_is_found_by_the_network_alone_also_after_leace() -> None:
    features = noise(4)
    concept = features[:, 0] * features[:, 1] > 0
    erased = fit_leace_eraser(features, {"concept": concept})(features)
    found = measure_leakage(erased, concept, folds=2)
    assert found.linear.at_chance
    # LEACE takes a whole direction out of the four for a correlation that is chance, and part of the product with it.
    assert found.mlp.found and found.mlp.auroc.mean > 0.7 and not found.at_chance
    assert found.linear.permuted.high <= 0.55
    assert found.mlp.permuted.low < 0.5 < found.mlp.permuted.high
    assert (found.rows, found.positives, found.folds) == (TEXTS, int(concept.sum()), 2)


@pytest.mark.parametrize("probe", [linear_probe, mlp_probe])
def test_sparse_rows_of_a_rare_concept(probe: object) -> None:
    generator = np.random.default_rng(2)
    code = generator.random((600, 700)) * (generator.random((600, 700)) < 0.02)
    concept = np.arange(600) % 30 == 0
    code[concept, 650] = 1.0
    fitted = probe(csr_matrix(code[:400]), concept[:400], 0)  # type: ignore[operator]
    scores = fitted(csr_matrix(code[400:]))
    held_out = np.arange(200)
    assert fold_auroc(scores, concept[400:], np.zeros(200), texts=held_out).mean > 0.9  # others have the token too


def test_the_area_by_hand() -> None:
    """Fold 0: 0.9 and 0.4 against 0.5: one of two pairs. Fold 1: 0.1 against 0.1 and 0.0: one and a half of two."""
    scores = np.array([0.9, 0.4, 0.5, 0.1, 0.1, 0.0])
    positive = np.array([True, True, False, True, False, False])
    found = fold_auroc(scores, positive, np.array([0, 0, 0, 1, 1, 1]), texts=np.arange(6))
    assert found.mean == pytest.approx(2.5 / 4)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    together = fold_auroc(scores, positive, np.zeros(6), texts=np.arange(6))
    assert together.mean == pytest.approx((3 + 2 + 1.5) / 9)


def test_the_rounding_of_an_erased_column_is_not_read() -> None:
    concept = np.arange(200) % 4 == 0
    features = np.hstack([noise(2, 200), 3.0 + concept[:, None] * 1e-15])
    assert abs(_area(linear_probe, features, concept).auroc.mean - 0.5) < 0.15


def test_rows_of_one_text_are_in_one_fold_and_every_fold_has_both() -> None:
    text = np.repeat(np.arange(60), 3)
    positive = np.random.default_rng(3).random(180) < 0.1
    fold = fold_numbers(positive, text, 4, 0)
    assert all(len(set(fold[text == each])) == 1 for each in range(60))
    assert all(positive[fold == number].any() and not positive[fold == number].all() for number in range(4))
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 9


def test_a_duplicate_does_not_give_its_label_away() -> None:
    """Labels by chance, every text there twice: a probe that remembers texts knows those of the other folds."""
    half = noise(1, 300)
    features, texts = np.vstack([half, half]), [f"text {number}" for number in range(300)] * 2
    concept = np.tile(np.random.default_rng(4).random(300) < 0.5, 2)

    def memory(rows: Matrix, positive: np.ndarray, seed: int) -> Fitted:
        known = dict(zip(rows[:, 0], positive, strict=True))
        return lambda others: np.array([float(known.get(value, 0.5)) for value in others[:, 0]])

    _, number = np.unique(texts, return_inverse=True)
    areas = [
        fold_auroc(cross_fitted(memory, features, concept, fold, 0), concept, fold, texts=number).mean
        for fold in (fold_numbers(concept, number, 3, 0), fold_numbers(concept, np.arange(600), 3, 0))
    ]
    assert areas[0] == 0.5 and areas[1] > 0.75


def test_at_chance_is_an_upper_bound() -> None:
    low, wide, high = Estimate(0.5, 0.45, 0.55), Estimate(0.5, 0.4, 0.6), Estimate(0.53, 0.51, 0.54)
    assert ProbeLeakage(low, low).at_chance and not ProbeLeakage(low, low).found
    assert not ProbeLeakage(wide, low).at_chance and not ProbeLeakage(wide, low).found  # too few texts to say
    assert ProbeLeakage(high, low).at_chance and ProbeLeakage(high, low).found
    assert not Leakage(ProbeLeakage(low, low), ProbeLeakage(wide, low), 9, 4, FOLDS).at_chance


@pytest.mark.parametrize(
    "features, concept, more, said",
    [
        (noise(2, 20), np.arange(20) < 3, {}, "3 different texts with the concept and 17 without"),
        (noise(2, 20), np.arange(20) < 9, {"texts": ["same"] * 20}, "1 different texts with the concept and 0"),
        (noise(2, 20), np.arange(20) < 9, {"folds": 1}, "two folds are the fewest"),
        (noise(2, 20), np.arange(20) < 9, {"texts": ["one"]}, "1 texts for 20 rows"),
        (noise(2, 20), np.arange(9) < 5, {}, "do not fit"),
        (noise(2, 20)[0], np.arange(20) < 9, {}, "do not fit"),
        (noise(2, 20) * np.nan, np.arange(20) < 9, {}, "finite"),
        (csr_matrix(noise(2, 20) * np.inf), np.arange(20) < 9, {}, "finite"),
        (noise(2, 20), np.arange(20), {}, "other than 0 and 1"),
        (noise(2, 0), np.zeros(0), {}, "0 different texts"),
    ],
)
def test_what_cannot_be_probed_is_said(features: Matrix, concept: np.ndarray, more: dict, said: str) -> None:
    with pytest.raises(DataError, match=said) as raised:
        measure_leakage(features, concept, **more)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def _area(probe: object, features: np.ndarray, concept: np.ndarray) -> ProbeLeakage:
    """Of one kind of probe alone."""
    fold = fold_numbers(concept, np.arange(len(concept)), FOLDS, 0)
    scores = cross_fitted(probe, features, concept, fold, 0)  # type: ignore[arg-type]
    found = fold_auroc(scores, concept, fold, texts=np.arange(len(concept)))
    return ProbeLeakage(found, found)
