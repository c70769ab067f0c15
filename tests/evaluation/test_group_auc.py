"""Areas under the curve of groups: scikit-learn is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pmean
from sklearn.metrics import roc_auc_score

from splade.evaluation.group_auc import AUCs, group_aucs, power_mean


def areas(scores: np.ndarray, positive: np.ndarray, members: np.ndarray, **settings: object) -> AUCs:
    names = [f"g{number}" for number in range(members.shape[1])]
    powered = np.ones(members.shape[1], dtype=bool)
    return group_aucs([scores], positive, members, names, powered=powered, **settings)[0][0]  # type: ignore[arg-type]


def oracle(scores: np.ndarray, positive: np.ndarray, inside: np.ndarray) -> list[float]:
    """Subgroup, BPSN, BNSP."""
    rows = (inside, (~inside & positive) | (inside & ~positive), (~inside & ~positive) | (inside & positive))
    return [float(roc_auc_score(positive[each], scores[each])) for each in rows]


def test_by_hand() -> None:
    """The group has a positive of 2 and a negative of 3; others have a positive of 4 and negatives of 1 and 2."""
    scores, positive = np.array([2.0, 3, 4, 1, 2]), np.array([1, 0, 1, 0, 0], dtype=bool)
    members = np.array([[1, 1, 0, 0, 0]], dtype=bool).T
    found = areas(scores, positive, members)
    group = found.groups["g0"]
    assert group.subgroup is not None and group.bpsn is not None and group.bnsp is not None and found.overall
    assert group.subgroup.mean == 0.0, "2 is not above 3"
    assert group.bpsn.mean == 1.0, "4 is above 3"
    assert group.bnsp.mean == 0.75, "2 is above 1 and equal to 2"
    assert found.overall.mean == pytest.approx((0 + 1 + 0.5 + 3) / 6)


@given(st.integers(0, 10_000))
def test_against_scikit_learn(seed: int) -> None:
    generator = np.random.default_rng(seed)
    positive = np.arange(80) % 3 == 0
    scores = np.round(positive + generator.normal(0, 1.5, 80), 1)  # with equal ones
    members = np.stack([generator.random(80) < 0.4, np.arange(80) % 2 == 0], axis=1)
    if not all(len(set(positive[inside])) == 2 for inside in members.T):
        return
    found = areas(scores, positive, members)
    assert found.overall is not None and found.overall.mean == pytest.approx(roc_auc_score(positive, scores))
    for name, inside in zip(("g0", "g1"), members.T, strict=True):
        group = found.groups[name]
        for each, expected in zip(
            (group.subgroup, group.bpsn, group.bnsp), oracle(scores, positive, inside), strict=True
        ):
            assert each is not None and each.mean == pytest.approx(expected) and each.low <= each.high


def test_intervals_are_those_of_scikit_learn_on_the_same_draws() -> None:
    from splade.evaluation.bootstrap import draws

    generator = np.random.default_rng(5)
    positive = generator.random(120) < 0.4
    scores, inside = np.round(positive + generator.normal(0, 1, 120), 1), generator.random(120) < 0.5
    group = areas(scores, positive, inside[:, None], seed=7).groups["g0"]
    rows = (~inside & positive) | (inside & ~positive)
    drawn = [
        roc_auc_score(positive[rows], scores[rows], sample_weight=times[rows])
        for some in draws(120, 7)
        for times in some
    ]
    assert group.bpsn is not None
    assert [group.bpsn.low, group.bpsn.high] == pytest.approx(np.percentile(drawn, (2.5, 97.5)))


def test_a_group_without_negatives_has_no_area_where_they_are_needed() -> None:
    positive = np.array([1, 1, 0, 0], dtype=bool)
    found = areas(np.arange(4.0), positive, np.array([[1, 1, 0, 0]], dtype=bool).T)
    group = found.groups["g0"]
    assert group.subgroup is None and group.bpsn is None and group.bnsp is not None
    assert found.mean.subgroup is None and found.combined is None


def test_the_power_mean_follows_the_worst() -> None:
    values = np.array([[0.9, 0.6, 0.8], [0.5, 0.5, 0.5]])
    assert power_mean(values) == pytest.approx([pmean(row, -5) for row in values])
    assert power_mean(np.array([[0.0, 1.0]])) == [0.0] and np.isnan(power_mean(np.zeros((2, 0)))).all()
    assert np.isnan(power_mean(np.array([[np.nan, 0.5]]))).all()


def test_changes_are_paired_and_means_are_of_the_groups_that_have_enough() -> None:
    generator = np.random.default_rng(0)
    positive = generator.random(400) < 0.5
    scores, members = positive + generator.normal(0, 1, 400), generator.random((400, 2)) < 0.4
    worse = np.where(
        members[:, 0] & ~positive, scores + 1.0, scores
    )  # harmless texts about the first group score higher
    found, less = group_aucs(
        [scores, worse, scores], positive, members, ["a", "b"], powered=np.array([True, False]), seed=1
    )
    assert len(found) == 3 and len(less) == 2
    assert less[0].groups["a"].bpsn is not None and less[0].groups["a"].bpsn.high < 0
    assert less[0].groups["a"].bnsp is not None and less[0].groups["a"].bnsp.mean == 0.0, "others are as before"
    same = less[1]
    assert same.overall is not None and (same.overall.low, same.overall.mean, same.overall.high) == (0, 0, 0)
    one = found[0]
    assert one.mean.bpsn is not None and one.groups["a"].bpsn is not None
    assert one.mean.bpsn.mean == pytest.approx(one.groups["a"].bpsn.mean), "of one group, that group's"
    parts = [one.overall, one.mean.subgroup, one.mean.bpsn, one.mean.bnsp]
    assert one.combined is not None and one.combined.mean == pytest.approx(np.mean([p.mean for p in parts if p]))
