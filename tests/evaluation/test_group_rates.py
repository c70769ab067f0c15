"""Rates of groups: by hand, overlapping, too small to tell, and by chance."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from splade.evaluation.group_rates import POWER_NORMAL, ErrorRates, RateTable, smallest_detectable_gap


def table(wrong: list[int] | np.ndarray, groups: list[list[int]] | np.ndarray, **settings: object) -> RateTable:
    """`wrong` (R,), `groups`: (G, R)."""
    members = np.array(groups, dtype=bool).T
    names = [f"g{number}" for number in range(members.shape[1])]
    return RateTable(np.atleast_2d(np.array(wrong, dtype=bool)), members, names, **{"fewest": 1, **settings})  # type: ignore[arg-type]


WRONG = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0]
GROUPS = [[1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0, 1, 0, 0], [0] * 10]
"""Two groups that share two rows, and one without any."""


def test_by_hand() -> None:
    """3 of 10 rows are wrong; of the first group 2 of 4, of the second 1 of 4."""
    found = table(WRONG, GROUPS).rates(0)
    assert found.overall.mean == 0.3
    first, second, third = (found.groups[name] for name in ("g0", "g1", "g2"))
    assert first is not None and second is not None and first.gap is not None and second.gap is not None
    assert (first.rate.mean, second.rate.mean) == (0.5, 0.25)
    assert first.gap.mean == pytest.approx(0.2) and second.gap.mean == pytest.approx(-0.05)
    assert third is None, "no rate, and not a rate of 0"
    assert first.gap.low < first.gap.mean < first.gap.high
    assert found.largest is not None
    assert found.largest.group == "g0" and found.largest.gap.mean == pytest.approx(0.2)


def test_against_the_background() -> None:
    """Outside of the first group 1 of 6 rows is wrong, outside of the second 2 of 6."""
    found = table(WRONG, GROUPS, against="background").rates(0)
    gaps = [found.groups[name].gap.mean for name in ("g0", "g1")]  # type: ignore[union-attr]
    assert gaps == pytest.approx([1 / 2 - 1 / 6, 1 / 4 - 2 / 6])
    every = table(WRONG, [[1] * 10], against="background").rates(0)
    assert every.groups["g0"] is not None and every.groups["g0"].gap is None and every.largest is None


def test_a_small_group_is_never_the_largest_gap() -> None:
    """The second group has one row, which is wrong: a gap of 0.7 that says nothing."""
    found = table(WRONG, [GROUPS[0], [1] + [0] * 9], fewest=2).rates(0)
    assert found.largest is not None and found.largest.group == "g0"
    assert found.groups["g1"] is not None and found.groups["g1"].detectable is None, "one row can show nothing"
    assert table(WRONG, GROUPS, fewest=50).rates(0).largest is None


def test_few_rows_without_an_error_are_not_known_to_have_none() -> None:
    """Wilson's interval of 0 of 3 ends at 1.96²/(3 + 1.96²) = 0.56; overall 3 of 10 are wrong."""
    rate = table(WRONG, [[0, 0, 1, 1, 1] + [0] * 5], fewest=4).rates(0).groups["g0"]
    assert rate is not None and rate.gap is not None
    assert (rate.rate.mean, rate.rate.low) == (0.0, 0.0) and rate.rate.high == pytest.approx(0.5615, abs=1e-3)
    assert [rate.gap.low, rate.gap.mean, rate.gap.high] == pytest.approx([-0.3, -0.3, 0.2615], abs=1e-3)


def test_changes_are_paired() -> None:
    """Twice the same errors: no change at all, and no interval around it. One error less in the first group: its rate
    falls by 1/4, the overall one by 1/10."""
    same = RateTable(np.array([WRONG, WRONG], dtype=bool), np.array(GROUPS, dtype=bool).T, ["g0", "g1", "g2"], fewest=1)
    changes = same.changes(1)
    assert (changes.overall.low, changes.overall.mean, changes.overall.high) == (0, 0, 0)
    less = RateTable(
        np.array([WRONG, [0, *WRONG[1:]]], dtype=bool), np.array(GROUPS, dtype=bool).T, ["g0", "g1", "g2"], fewest=1
    ).changes(1)
    assert less.overall.mean == pytest.approx(-0.1) and less.gaps["g2"] is None
    assert less.gaps["g0"] is not None and less.gaps["g0"].mean == pytest.approx(-0.25 + 0.1)
    assert less.gaps["g1"] is not None and less.gaps["g1"].mean == pytest.approx(0.1)
    assert less.largest is not None and less.largest.mean == pytest.approx(0.05 - 0.2)


def test_rows_of_one_text_are_drawn_together() -> None:
    generator = np.random.default_rng(0)
    texts = np.repeat(np.arange(40), 25)
    wrong = (generator.random(40) < 0.3)[texts]
    groups = np.ones((1, 1000), dtype=bool)
    apart, together = (table(wrong, groups, texts=each).rates(0).overall for each in (None, texts))
    assert together.high - together.low > 3 * (apart.high - apart.low)


class TestDetectable:
    def test_the_formula(self) -> None:
        gap = smallest_detectable_gap(0.1, 50)
        assert gap is not None
        right = (norm.ppf(0.975) * np.sqrt(0.1 * 0.9) + norm.ppf(0.8) * np.sqrt((0.1 + gap) * (0.9 - gap))) / np.sqrt(
            50
        )
        assert gap == pytest.approx(right, abs=1e-4) and norm.ppf(0.8) == pytest.approx(POWER_NORMAL, abs=1e-4)

    def test_more_rows_show_smaller_gaps(self) -> None:
        gaps = [smallest_detectable_gap(0.1, rows) for rows in (10, 50, 500, 5000)]
        assert all(gaps) and gaps == sorted(gaps, reverse=True)  # type: ignore[type-var]

    def test_it_is_found_four_times_in_five(self) -> None:
        """Simulated: of 200 rows whose rate is higher by that much, a test at 5 % finds it in 80 % of the cases."""
        rate, rows = 0.15, 200
        gap = smallest_detectable_gap(rate, rows)
        assert gap is not None
        counts = np.random.default_rng(1).binomial(rows, rate + gap, 4000)
        found = np.abs(counts / rows - rate) > norm.ppf(0.975) * np.sqrt(rate * (1 - rate) / rows)
        assert found.mean() == pytest.approx(0.8, abs=0.04)

    def test_where_nothing_errs_and_where_all_does(self) -> None:
        assert smallest_detectable_gap(0.0, 50) == pytest.approx(POWER_NORMAL**2 / (50 + POWER_NORMAL**2), abs=1e-4)
        assert smallest_detectable_gap(1.0, 50) is None and smallest_detectable_gap(0.5, 1) is None


class TestNull:
    @staticmethod
    @cache
    def drawn(seed: int, effect: float = 0.0) -> ErrorRates:
        """600 rows, eight overlapping groups of about 90, a tenth of the rows wrong."""
        generator = np.random.default_rng(seed)
        groups = generator.random((8, 600)) < 0.15
        wrong = generator.random(600) < 0.1 + effect * groups[0]
        return table(wrong, groups, fewest=50, seed=seed).rates(0)

    def test_it_is_calibrated(self) -> None:
        """Where groups make no difference, p is below a level in about that share of the cases."""
        found = [self.drawn(seed).largest for seed in range(120)]
        p = np.array([each.null.p for each in found if each is not None])
        assert len(p) == 120
        assert 0.35 < (p <= 0.5).mean() < 0.65 and (p <= 0.05).mean() < 0.11 and (p <= 0.2).mean() > 0.1

    def test_the_largest_gap_is_above_zero_by_chance(self) -> None:
        found = [self.drawn(seed).largest for seed in range(20)]
        gaps, nulls = (
            np.array(each) for each in zip(*[(one.gap.mean, one.null.mean) for one in found if one], strict=True)
        )
        assert (gaps > 0).mean() > 0.9 and gaps.mean() > 0.02, "though no group differs"
        assert nulls.mean() == pytest.approx(gaps.mean(), rel=0.3)

    def test_a_real_gap_is_beyond_it(self) -> None:
        largest = self.drawn(0, effect=0.25).largest
        assert largest is not None and largest.group == "g0"
        assert largest.gap.mean > largest.null.high > largest.null.mean > 0 and largest.null.p < 0.01

    def test_a_large_group_is_told_among_small_ones(self) -> None:
        """Its gap is within what the smallest groups have by chance, and far beyond what it has by chance itself."""
        generator = np.random.default_rng(2)
        sizes = [900, *[50] * 30]
        groups = np.array([np.isin(np.arange(3000), generator.permutation(3000)[:size]) for size in sizes])
        wrong = generator.random(3000) < 0.2 + 0.1 * groups[0]
        found = table(wrong, groups, fewest=50).rates(0)
        large = found.groups["g0"]
        assert large is not None and large.gap is not None and found.largest is not None and large.p is not None
        assert large.gap.mean < found.largest.null.high and found.largest.null.p > 0.05
        assert large.is_above and large.p < 0.01
        others = [found.groups[f"g{number}"] for number in range(1, 31)]
        assert not any(each is not None and each.is_above for each in others)

    def test_p_over_all_groups_is_calibrated(self) -> None:
        """Where no group differs, any is called above in about 5 % of the cases."""
        found = [self.drawn(seed).groups.values() for seed in range(120)]
        assert np.mean([any(each is not None and each.is_above for each in groups) for groups in found]) < 0.11

    def test_without_errors_nothing_is_above(self) -> None:
        found = table([0] * 200, [[1] * 100 + [0] * 100]).rates(0)
        assert found.groups["g0"] is not None and found.groups["g0"].p == 1.0
        assert found.largest is not None and (found.largest.gap.mean, found.largest.null.p) == (0.0, 1.0)
