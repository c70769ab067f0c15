"""LEACE: after it no column is correlated with a group, however rare; on tokens the code is dense and signed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from concept_erasure import LeaceEraser
from scipy.sparse import csr_matrix

from splade.data.types import TextSplit
from splade.errors import DataError
from splade.evaluation import concept_eraser
from splade.evaluation.concept_eraser import ConceptEraserFitter
from splade.evaluation.leace import fit_leace_eraser, fit_leace_on_tokens
from splade.evaluation.sparse_probing import gathered, read_rows
from splade.tasks import ClassificationTask
from tests.builders import build_model, sparse_rows, toy_reviews


def correlations(features: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(d,) absolute, of each column with a group; what has next to no spread is rounding."""
    x, z = features - features.mean(0), group - group.mean()
    return np.abs(x.T @ z) / np.maximum(np.sqrt((x**2).sum(0) * (z**2).sum()), 1e-4)


def planted(texts: int, share: float, size: float, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Features, and a group that moves the first by `size` standard deviations."""
    generator = np.random.default_rng(0)
    group = np.zeros(texts, dtype=bool)
    group[generator.choice(texts, round(share * texts), replace=False)] = True
    mixed = np.eye(columns) + 0.2 * generator.normal(size=(columns, columns))
    features = generator.normal(size=(texts, columns)) @ mixed + 3.0
    features[:, 0] += size * group * features[:, 0].std()
    return features, group


def test_a_rare_group_is_erased_that_the_default_of_the_library_leaves() -> None:
    """0.3 % of the texts: the spread of the label is 0.05, and 0.05 times the correlation is below its tolerance."""
    features, group = planted(10_000, 0.003, 1.5)
    before = correlations(features, group).max()
    assert 0.05 < before < 0.18
    x, z = torch.from_numpy(features), torch.from_numpy(group).double()
    untouched = LeaceEraser.fit(x, z)(x).numpy()
    assert correlations(untouched, group).max() == pytest.approx(before, rel=1e-6)
    eraser = fit_leace_eraser(features, {"rare": group})
    found = eraser.groups["rare"]
    assert found.texts == 30 and eraser.texts == 10_000
    assert found.before == pytest.approx(before, abs=1e-9) and found.left < 1e-6
    assert correlations(eraser(features), group).max() < 1e-6


def test_overlapping_groups_are_erased_together_and_the_mean_stays() -> None:
    features, first = planted(500, 0.3, 1.0)
    second = first ^ (np.arange(500) % 3 == 0)
    features[:, 3] += second
    groups = {"first": first, "second": second, "again": first}  # the same texts twice: one direction, not two
    erased = fit_leace_eraser(features, groups)(features)
    assert max(correlations(erased, group).max() for group in groups.values()) < 1e-6
    assert np.allclose(erased.mean(0), features.mean(0))
    assert np.linalg.matrix_rank(erased - erased.mean(0)) == features.shape[1] - 2


def test_columns_of_any_scale_constant_ones_and_the_label_itself() -> None:
    features, group = planted(300, 0.2, 1.0)
    wild = np.hstack([features * 10.0 ** np.arange(-6, 6, 2), np.full((300, 1), 0.1), group[:, None]])
    eraser = fit_leace_eraser(wild, {"group": group})
    erased = eraser(wild)
    assert correlations(erased / wild.std(0).clip(1e-9), group).max() < 1e-6
    assert np.array_equal(erased[:, 6], wild[:, 6])
    assert eraser.groups["group"].before == pytest.approx(1.0)


def test_more_columns_than_texts() -> None:
    features = np.random.default_rng(1).normal(size=(12, 30))
    group = np.arange(12) < 4
    assert correlations(fit_leace_eraser(features, {"group": group})(features), group).max() < 1e-6


def test_batches_gather_what_all_texts_do() -> None:
    features, group = planted(400, 0.1, 1.0)
    fitter = ConceptEraserFitter(6, ["group"])
    for part in (slice(0, 150), slice(150, 151), slice(151, 151), slice(151, 400)):
        fitter.update(torch.from_numpy(features[part]), group[part, None])
    found, whole = fitter.result(), fit_leace_eraser(features, {"group": group})
    assert np.allclose(found(features), whole(features))
    kept = found.mean.clone()
    fitter.update(features, group[:, None])
    assert torch.equal(found.mean, kept)  # a result is frozen


def test_at_positions_it_erases_the_mean_in_the_precision_given() -> None:
    features, group = planted(300, 0.3, 1.0)
    eraser = fit_leace_eraser(features, {"group": group})
    noise = torch.from_numpy(np.random.default_rng(2).normal(size=(300, 5, 6)))
    states = torch.from_numpy(features)[:, None] + noise - noise.mean(1, keepdim=True)  # (B, L, d)
    assert correlations(eraser(states).mean(1).numpy(), group).max() < 1e-6
    assert eraser(states.float()).dtype == torch.float32


def test_on_tokens_the_code_is_dense_and_signed() -> None:
    generator = np.random.default_rng(3)
    group = generator.random(400) < 0.2
    dense = np.abs(generator.normal(size=(400, 20))) * (generator.random((400, 20)) < 0.2)
    dense[:, 4] = np.where(group, 1.5, dense[:, 4])
    dense[:, 15:] = 0
    dense[np.flatnonzero(group)[:3], 15] = 2.0  # fires too seldom
    eraser = fit_leace_on_tokens(csr_matrix(dense), {"group": group}, fewest=5)
    assert eraser.columns.tolist() == list(range(15))
    erased = eraser.of_matrix(csr_matrix(dense)).toarray()
    assert correlations(erased[:, :15], group).max() < 1e-6
    assert np.array_equal(erased[:, 15:], dense[:, 15:])
    assert eraser.outside["group"] == pytest.approx(correlations(dense[:, 15:], group).max())
    assert (erased[:, :15] != 0).mean() > 0.99 and (erased < 0).any()
    few = fit_leace_on_tokens(csr_matrix(dense), {"group": group}, fewest=5, most=4)
    assert len(few.columns) == 4 and (dense[:, few.columns] != 0).sum(0).min() >= np.sort((dense != 0).sum(0))[-4]


def test_sparse_rows_are_erased_as_the_matrix_is() -> None:
    generator = np.random.default_rng(4)
    code = csr_matrix(generator.random((60, 10)) * (generator.random((60, 10)) < 0.6))
    eraser = fit_leace_on_tokens(code, {"group": np.arange(60) % 4 == 0}, most=5)
    rows = sparse_rows({1: 0.5, 3: 1.0, 9: 2.0}, {}, {int(eraser.columns[0]): 1.5})
    erased = eraser(rows)
    assert np.allclose(erased.to_dense(), eraser.of_matrix(csr_matrix(rows.to_dense().numpy())).toarray(), atol=1e-6)
    order = erased.row * 10 + erased.token
    assert (order[1:] > order[:-1]).all() and len(erased.position) == len(erased)


def test_on_a_model(tmp_path: object) -> None:
    model = build_model(tmp_path)  # type: ignore[arg-type]
    texts, labels = toy_reviews(40)
    task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, 64)
    rows = gathered(list(read_rows(model, task, np.arange(40), 16)))
    about = {"the": np.array([texts[text].startswith("the") for text in rows.texts])}
    on_hidden = fit_leace_eraser(rows.hidden, about)
    assert on_hidden.groups["the"].left < 1e-6 < on_hidden.groups["the"].before
    on_tokens = fit_leace_on_tokens(rows.code, about, fewest=2)
    batch = task.batch([0, 1, 2])
    with torch.no_grad():
        state = model.classify(model(batch.input_ids, batch.attention_mask))
        logits = model.decide(on_tokens(state.rows)).logits
    assert logits.shape == state.logits.shape and torch.isfinite(logits).all()


def test_what_cannot_be_erased_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    features, group = planted(50, 0.2, 1.0)
    code = csr_matrix(np.eye(50, 6))
    for call, said in (
        (lambda: fit_leace_eraser(features, {"none": np.zeros(50)}), "none is about the group 'none'"),
        (lambda: fit_leace_eraser(features, {"all": np.ones(50)}), "every one is about the group 'all'"),
        (lambda: fit_leace_eraser(features, {}), "no group to erase"),
        (lambda: fit_leace_eraser(features, {"short": group[:9]}), "there are 50 texts"),
        (lambda: fit_leace_eraser(features, {"odd": group * 2.0}), "other than 0 and 1"),
        (lambda: fit_leace_eraser(features * np.nan, {"group": group}), "finite"),
        (lambda: fit_leace_eraser(features[0], {"group": group}), "a row a text"),
        (lambda: fit_leace_eraser(code, {"group": group}), "fit_leace_on_tokens"),
        (lambda: fit_leace_on_tokens(features, {"group": group}), "fit_leace_eraser"),
        (lambda: fit_leace_on_tokens(code, {"group": group}), "No token fires in 10"),
        (lambda: fit_leace_eraser(features, {"group": group})(features[:, :2]), "fitted on 6 columns"),
        (lambda: fit_leace_on_tokens(code, {"g": group}, fewest=1).of_matrix(code[:, :3]), "codes of 6 tokens"),
        (lambda: ConceptEraserFitter(3, ["group"]).update(features, group[:, None]), "3 columns and 1 groups"),
        (lambda: ConceptEraserFitter(3, ["group"]).result(), "Of 0 texts none"),
    ):
        with pytest.raises(DataError, match=said) as raised:
            call()
        assert str(raised.value).endswith(".") and "\n" not in str(raised.value)
    monkeypatch.setattr(concept_eraser, "SMALLEST_SINGULAR", 0.99)  # as a tolerance that is too coarse leaves it
    with pytest.raises(DataError, match="is left where less than 1e-06 was expected, with: group"):
        fit_leace_eraser(features, {"group": group})
