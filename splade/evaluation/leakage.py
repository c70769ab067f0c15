"""Leakage: how much of a concept, such as a group that texts are about, can still be read off features.

Two probes, a linear one and a small network, are cross-fitted: every row is scored by probes that were fitted on other
texts. The figure is the area under the ROC curve, which a rare concept does not flatter: of a text with the concept and
one without it, drawn from the same fold, how often has the first the higher score? Scores of different folds are of
different probes and are not compared. The same probes on permuted labels say what finds itself by chance.

An eraser that was fitted on the very same rows can bring the area far below a half: what it makes uncorrelated over all
rows is correlated one way in some folds, and the other way in the rest. Fit on training texts, measure on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splade.errors import DataError
from splade.evaluation.bootstrap import draws, percentile_intervals
from splade.evaluation.concept_probes import Matrix, Probe, linear_probe, mlp_probe
from splade.evaluation.estimate import Estimate
from splade.evaluation.group_auc import Ranking

MOST_AT_CHANCE = 0.55
"""Upper bound of the area's interval up to which a concept counts as gone."""

FOLDS = 5


@dataclass(frozen=True)
class ProbeLeakage:
    """What one kind of probe finds."""

    auroc: Estimate
    """With its 95 % interval by bootstrap over texts; the probes are not fitted anew."""
    permuted: Estimate
    """The same for labels permuted within each fold."""

    @property
    def at_chance(self) -> bool:
        """Whether the concept is shown to be gone. Of few texts with it the interval is too wide to show that."""
        return self.auroc.high <= MOST_AT_CHANCE

    @property
    def found(self) -> bool:
        """Whether the concept is shown to be there, be it ever so little."""
        return self.auroc.low > 0.5


@dataclass(frozen=True)
class Leakage:
    """How much of a concept can be read off features."""

    linear: ProbeLeakage
    mlp: ProbeLeakage
    rows: int
    positives: int
    """Rows with the concept."""
    folds: int

    @property
    def at_chance(self) -> bool:
        """For both probes."""
        return self.linear.at_chance and self.mlp.at_chance


def measure_leakage(
    features: Matrix,
    concept: np.ndarray,
    *,
    texts: Sequence[str] | np.ndarray | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> Leakage:
    """Measure how much of a concept probes can read off features.

    Args:
        features: (N, d) an array, or a sparse matrix of scipy such as codes over the vocabulary.
        concept: (N,) bool, whether a row has the concept.
        texts: (N,) the text of each row, or its number: rows with the same are in one fold, so that no probe is asked
            for a text that it was fitted on, and are drawn together; None: no two rows have the same.
        folds: parts of the rows, of which each is scored by probes fitted on the others.
    """
    rows = features.tocsr() if hasattr(features, "tocsr") else np.asarray(features, dtype=np.float64)
    positive = _checked(rows, concept)
    text = _text_numbers(texts, len(positive))
    fold = fold_numbers(positive, text, folds, seed)
    permuted = _permuted_within(positive, fold, seed)

    def found(probe: Probe) -> ProbeLeakage:
        every = (
            fold_auroc(cross_fitted(probe, rows, labels, fold, seed), labels, fold, texts=text, seed=seed)
            for labels in (positive, permuted)
        )
        return ProbeLeakage(*every)

    return Leakage(found(linear_probe), found(mlp_probe), len(positive), int(positive.sum()), folds)


def fold_numbers(positive: np.ndarray, text: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """(N,) the fold of each row: those of one text (N,) in one, the concept about as frequent in all."""
    from sklearn.model_selection import StratifiedKFold  # slow to load

    with_concept = np.bincount(text, positive) > 0  # (T,)
    fewest = int(min(with_concept.sum(), (~with_concept).sum()))
    if folds < 2 or fewest < folds:
        raise DataError(
            f"There are {int(with_concept.sum())} different texts with the concept and {int((~with_concept).sum())} "
            f"without it, but {folds} folds need as many of each, and two folds are the fewest; give more texts or "
            "other folds."
        )
    of_text = np.empty(len(with_concept), dtype=np.int64)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(with_concept, with_concept)
    for number, (_, held_out) in enumerate(split):
        of_text[held_out] = number
    numbers: np.ndarray = of_text[text]
    return numbers


def cross_fitted(probe: Probe, features: Matrix, positive: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """(N,) the score of each row, by the probe that was fitted on the other folds."""
    scores = np.empty(len(positive))
    for number in np.unique(fold):
        inside = fold == number
        scores[inside] = probe(features[~inside], positive[~inside], seed)(features[inside])
    return scores


def fold_auroc(
    scores: np.ndarray, positive: np.ndarray, fold: np.ndarray, *, texts: np.ndarray, seed: int = 0
) -> Estimate:
    """Area under the ROC curve, Σ_f U_f / Σ_f n⁺_f n⁻_f over folds f, where U_f counts the pairs of a row with the
    concept and one without it of which the first has the higher score; equal scores count half."""
    parts = [(rows, Ranking(scores[rows])) for rows in (np.flatnonzero(fold == each) for each in np.unique(fold))]

    def areas(times: np.ndarray) -> np.ndarray:
        """(D,) with each row there so often (D, N)."""
        won, pairs = np.zeros(len(times)), np.zeros(len(times))
        for rows, ranking in parts:
            having, lacking = times[:, rows] * positive[rows], times[:, rows] * ~positive[rows]  # (D, n)
            won += (having * ranking.below(lacking)).sum(1)
            pairs += having.sum(1) * lacking.sum(1)
        return np.divide(won, pairs, out=np.full(len(times), np.nan), where=pairs > 0)

    _, text = np.unique(texts, return_inverse=True)
    drawn = np.concatenate([areas(times[:, text]) for times in draws(int(text.max()) + 1, seed)])
    (within,) = percentile_intervals(drawn[:, None])
    return Estimate(float(areas(np.ones((1, len(scores))))[0]), within.low, within.high)


def _permuted_within(positive: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """Labels (N,) permuted among the rows of each fold, so that every fold keeps both."""
    generator, permuted = np.random.default_rng(seed), positive.copy()
    for number in np.unique(fold):
        permuted[fold == number] = generator.permutation(positive[fold == number])
    return permuted


def _text_numbers(texts: Sequence[str] | np.ndarray | None, rows: int) -> np.ndarray:
    if texts is None:
        return np.arange(rows)
    if len(texts) != rows:
        raise DataError(f"There are {len(texts)} texts for {rows} rows of features; give each row its text.")
    _, numbers = np.unique(np.asarray(texts), return_inverse=True)
    return numbers.ravel()


def _checked(features: Matrix, concept: np.ndarray) -> np.ndarray:
    """The concept as bool, of features that can be probed."""
    values = np.asarray(concept)
    if features.ndim != 2 or values.shape != features.shape[:1]:
        raise DataError(
            f"Features of shape {tuple(features.shape)} and a concept of shape {values.shape} do not fit; give (texts, "
            "columns) and a value a text."
        )
    if not np.isfinite(features.data if hasattr(features, "tocsr") else features).all():
        raise DataError("Features that are no finite numbers are among those given; give finite ones.")
    if not np.isin(values, (0, 1)).all():
        raise DataError("The concept has values other than 0 and 1; say of each text whether it has the concept.")
    return values.astype(bool)
