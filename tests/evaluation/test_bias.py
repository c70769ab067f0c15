"""`evaluate_bias` on examples made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from splade.errors import DataError
from splade.evaluation.bias import BiasResult, evaluate_bias


def made(seed: int = 0, size: int = 2000, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Scores, labels and two groups that overlap; harmless texts about the first score higher by `shift`."""
    generator = np.random.default_rng(seed)
    positive = generator.random(size) < 0.4
    groups = {"a": generator.random(size) < 0.3, "b": generator.random(size) < 0.3}
    scores = 3.0 * positive - 1.5 + generator.normal(0, 1, size) + shift * (groups["a"] & ~positive)
    return scores, positive, groups


def gap(found: BiasResult, condition: str, point: str, group: str = "a") -> float:
    rate = getattr(found.conditions[condition], point).fpr.groups[group]
    return rate.gap.mean


def test_by_hand() -> None:
    """Negatives: 1 of 4 flagged; of the group 1 of 2. Positives: 1 of 2 missed; the group has none."""
    scores = np.array([1.0, -1.0, -2.0, -3.0, 2.0, -0.5])
    positive = np.array([0, 0, 0, 0, 1, 1], dtype=bool)
    found = evaluate_bias(scores, positive, {"a": [1, 0, 1, 0, 0, 0]}, fewest=2)
    size, fixed = found.groups["a"], found.conditions["model"].fixed
    assert (size.texts, size.positives, size.negatives) == (2, 0, 2)
    assert (found.overall.texts, found.overall.positives, found.overall.negatives) == (6, 2, 4)
    assert fixed.threshold == 0.0 and found.threshold_from == "given" and found.changes == {}
    assert (fixed.fpr.overall.mean, fixed.fnr.overall.mean) == (0.25, 0.5)
    assert fixed.accuracy.mean == pytest.approx(4 / 6)
    rate = fixed.fpr.groups["a"]
    assert rate is not None and rate.rate.mean == 0.5 and rate.gap is not None and rate.gap.mean == 0.25
    assert fixed.fnr.groups["a"] is None, "no positives: undefined, not 0"
    assert found.is_powered("a", "fpr") and not found.is_powered("a", "fnr")


def test_groups_agree_with_those_taken_apart() -> None:
    """Overlapping groups are each what they are alone."""
    scores, positive, groups = made()
    found = evaluate_bias(scores, positive, groups).conditions["model"].fixed.fpr
    for name, inside in groups.items():
        rate = found.groups[name]
        assert rate is not None and rate.rate.mean == pytest.approx((scores[inside & ~positive] > 0).mean())
    assert found.largest is not None and found.largest.group == "a" and found.largest.null.p < 0.01


def test_the_threshold_is_fixed_on_validation_texts() -> None:
    scores, positive, groups = made()
    held_out, labels, _ = made(seed=1)
    found = evaluate_bias(
        {"one": scores, "two": scores + 5},
        positive,
        groups,
        validation=({"one": held_out, "two": held_out + 5}, labels),
    )
    one, two = (found.conditions[name].fixed for name in ("one", "two"))
    assert found.threshold_from == "validation" and two.threshold == pytest.approx(one.threshold + 5)
    assert (
        one.threshold
        == evaluate_bias(scores, positive, groups, validation=(held_out, labels)).conditions["model"].fixed.threshold
    )
    assert one.fpr.overall == two.fpr.overall


def test_a_gap_that_only_a_shifted_threshold_halves_is_not_halved_at_matched_rate() -> None:
    """All scores lower by the same: the decisions are others, the model is the same. A model that no longer lifts the
    scores of the group does close the gap."""
    scores, positive, groups = made()
    shifted, cured = scores - 0.8, scores - 1.0 * (groups["a"] & ~positive)
    found = evaluate_bias({"baseline": scores, "shifted": shifted, "cured": cured}, positive, groups)
    before = gap(found, "baseline", "fixed")
    assert before > 0.1 and gap(found, "shifted", "fixed") < 0.5 * before, "it looks halved"
    assert gap(found, "shifted", "matched") == pytest.approx(before), "it is not"
    assert abs(gap(found, "cured", "matched")) < 0.2 * before
    change = found.changes["shifted"].matched.fpr.gaps["a"]
    assert change is not None and (change.low, change.mean, change.high) == (0, 0, 0)
    real = found.changes["cured"].matched.fpr.gaps["a"]
    assert real is not None and real.high < 0 and found.changes["cured"].matched.fpr.largest.high < 0  # type: ignore[union-attr]
    rates = {name: each.matched.fpr.overall.mean for name, each in found.conditions.items()}
    assert rates == pytest.approx(dict.fromkeys(rates, found.matched_fpr))


def test_a_rate_to_match_can_be_given() -> None:
    found = evaluate_bias(*made(), matched_fpr=0.1)
    negatives = found.overall.negatives
    assert found.matched_fpr == 0.1
    assert found.conditions["model"].matched.fpr.overall.mean == pytest.approx(0.1, abs=1 / negatives)


def test_a_small_group_is_shown_with_what_it_could_detect() -> None:
    scores, positive, groups = made()
    few = np.zeros(len(positive), dtype=bool)
    few[np.flatnonzero(~positive)[:20]] = True
    found = evaluate_bias(scores, positive, {**groups, "few": few})
    rate = found.conditions["model"].fixed.fpr.groups["few"]
    assert not found.is_powered("few", "fpr") and rate is not None and rate.detectable is not None
    assert rate.detectable > 0.1
    assert found.conditions["model"].auc.mean == evaluate_bias(scores, positive, groups).conditions["model"].auc.mean


def test_the_same_twice_is_the_same() -> None:
    assert evaluate_bias(*made(size=300), seed=3) == evaluate_bias(*made(size=300), seed=3)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"positive": np.zeros(4, dtype=bool)}, "All 4 texts are negative, but bias needs texts of both labels"),
        ({"positive": np.ones(4, dtype=bool)}, "All 4 texts are positive"),
        ({"groups": {}}, "There is no group to measure bias of"),
        ({"scores": {}}, "There is no condition to measure bias of"),
        ({"groups": {"a": [1, 0]}}, r"The group 'a' has \(2,\) values, but there are 4 texts"),
        ({"scores": np.zeros(3)}, r"The condition 'model' has \(3,\) values"),
        ({"scores": np.array([0, 1, np.nan, 2])}, "Scores that are no finite numbers are among those of: model"),
        ({"validation": ({"other": np.zeros(2)}, [0, 1])}, "The condition 'model' has no validation scores"),
        ({"validation": (np.zeros(2), [0, 0])}, "All 2 validation texts are negative"),
    ],
)
def test_what_no_rate_can_be_made_of(changed: dict[str, object], said: str) -> None:
    given = {"scores": np.arange(4.0), "positive": np.array([0, 1, 0, 1]), "groups": {"a": [1, 1, 0, 0]}} | changed
    with pytest.raises(DataError, match=said) as raised:
        evaluate_bias(given.pop("scores"), given.pop("positive"), given.pop("groups"), **given)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
