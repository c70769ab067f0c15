"""Error rates of groups: how often a model errs on texts about a group, and how much more often than on all texts.

False positives and false negatives are the same thing here: of rows that can be erred on in one way (all negative
texts, or all positive ones), which are *wrong*. Several conditions (a model as it is, suppressed, refitted, …) are
compared on the same rows, and every interval comes from the same draws of texts, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Literal

import numpy as np

from splade.evaluation.binomial import NORMAL, interval
from splade.evaluation.bootstrap import DRAWS, DRAWS_AT_A_TIME, intervals
from splade.evaluation.estimate import Estimate

FEWEST = 50
"""Rows of a group from which on its rate is compared with others': of 50, a share has an interval of ±14 points."""

POWER_NORMAL = 0.8416
"""Standard deviations below which a normal variable lies 80 % of the time: the power asked of a test."""

LEVEL = 0.05
"""Of a test."""

Against = Literal["overall", "background"]
"""What a group's rate is compared with: that of all rows, the group's own too, or that of the rows outside of it."""


@dataclass(frozen=True)
class GroupRate:
    """How often a model errs on a group."""

    rate: Estimate
    gap: Estimate | None
    """Less the rate it is compared with; None: there is nothing to compare with, since all rows are of the group."""
    detectable: float | None
    """The smallest gap that as many rows could show; None: not even an error at every row would."""
    p: float | None
    """How often chance alone gives any of the groups a gap as far above 0 as this one, each measured by its own spread
    (Westfall and Young 1993): so small groups, whose gaps vary most, do not hide what a large one shows. None: the
    group has too few rows to be compared."""

    @property
    def is_above(self) -> bool:
        """Whether the gap is above 0 beyond chance, for all groups at once."""
        return self.p is not None and self.p <= LEVEL


@dataclass(frozen=True)
class Null:
    """The largest gap where groups make no difference: the errors dealt anew among all rows, again and again."""

    mean: float
    high: float
    """What it stays below 95 % of the time."""
    p: float
    """Share of the deals with a gap at least as large as the one found, that one among them. The smallest groups have
    the largest gaps by chance, so that a large group's gap may well be real within it: `GroupRate.p` tells."""


@dataclass(frozen=True)
class LargestGap:
    """The group on which a model errs more often than on all rows by most, of those with rows enough to tell."""

    group: str
    gap: Estimate
    """Of that group, as if it had been chosen beforehand."""
    null: Null
    """A maximum over groups is above 0 by chance alone; this is by how much."""


@dataclass(frozen=True)
class ErrorRates:
    """One kind of error."""

    overall: Estimate
    groups: dict[str, GroupRate | None]
    """None: the group has no row that could be erred on, and so no rate."""
    largest: LargestGap | None
    """None: no group has rows enough."""


@dataclass(frozen=True)
class RateChanges:
    """What one condition's rates have less those of another, on the same rows."""

    overall: Estimate
    gaps: dict[str, Estimate | None]
    """Of each group's gap."""
    largest: Estimate | None
    """Of the largest gap, whichever group has it in each."""


def smallest_detectable_gap(rate: float, rows: int) -> float | None:
    """The gap above a known rate p that a two-sided test at 5 % finds in so many rows with a power of 80 %: the d with

    d = (1.96·√(p(1 − p)) + 0.84·√((p + d)(1 − p − d))) / √rows
    """
    from scipy.optimize import brentq  # takes half a second to load, and most commands do not need it

    def short(gap: float) -> float:
        higher = min(rate + gap, 1.0)
        return NORMAL * sqrt(rate * (1 - rate)) + POWER_NORMAL * sqrt(higher * (1 - higher)) - gap * sqrt(rows)

    smallest = 1e-9  # where the rate is 0, no gap at all solves the equation too
    if rate + smallest >= 1 or short(1 - rate) > 0:
        return None
    return float(brentq(short, smallest, 1 - rate))


class RateTable:
    """Rates of all groups and conditions, on the rows that can be erred on in one way."""

    def __init__(
        self,
        wrong: np.ndarray,
        members: np.ndarray,
        names: Sequence[str],
        *,
        texts: np.ndarray | None = None,
        against: Against = "overall",
        fewest: int = FEWEST,
        seed: int = 0,
    ):
        """
        Args:
            wrong: (C, R) bool, of each condition.
            members: (R, G) bool, the groups that each row is of.
            names: (G,) of the groups.
            texts: (R,) rows that are drawn together have the same; None: each is drawn for itself.
        """
        self.wrong, self.members, self.names = wrong.astype(bool), members.astype(bool), list(names)
        self.texts = np.arange(len(members)) if texts is None else texts
        self.against, self.seed = against, seed
        self.sizes = self.members.sum(0)
        self.powered = self.sizes >= fewest
        if against == "background":
            self.powered &= len(members) - self.sizes >= fewest

    def rates(self, condition: int) -> ErrorRates:
        """What was found of one condition."""
        groups = len(self.names)
        found = self._estimates[condition * self._width : (condition + 1) * self._width]
        overall, rates, gaps, largest = found[0], found[1 : 1 + groups], found[1 + groups : -1], found[-1]
        assert overall is not None
        dealt = self._dealt(condition)
        chances = self._chances(dealt, gaps)
        of_groups: dict[str, GroupRate | None] = {}
        for name, rate, gap, rows, p, enough in zip(
            self.names, rates, gaps, self.sizes, chances, self.powered, strict=True
        ):
            if rate is not None and not enough:
                rate, gap = _of_few(rate, gap, int(rows))
            detectable = smallest_detectable_gap(overall.mean, int(rows)) if rate else None
            of_groups[name] = GroupRate(rate, gap, detectable, p) if rate else None
        worst = None
        if largest is not None:
            named = [(gap, name) for gap, name, enough in zip(gaps, self.names, self.powered, strict=True) if enough]
            gap, name = max(((gap, name) for gap, name in named if gap), key=lambda each: each[0].mean)
            top = dealt.max(1)
            worst = LargestGap(
                name, gap, Null(float(top.mean()), float(np.quantile(top, 0.95)), _reached(top, gap.mean))
            )
        return ErrorRates(overall, of_groups, worst)

    def changes(self, condition: int) -> RateChanges:
        """What a condition has less the first."""
        groups, skipped = len(self.names), len(self.wrong) * self._width
        start = skipped + (condition - 1) * self._width
        found = self._estimates[start : start + self._width]
        assert found[0] is not None
        return RateChanges(found[0], dict(zip(self.names, found[1 + groups : -1], strict=True)), found[-1])

    @property
    def _width(self) -> int:
        """Figures of a condition: overall, a rate and a gap a group, the largest gap."""
        return 2 * len(self.names) + 2

    @cached_property
    def _estimates(self) -> list[Estimate | None]:
        """Of every condition its figures, and then what each but the first has less the first."""
        inside = np.hstack([np.ones((len(self.members), 1)), self.members])  # (R, 1 + G)
        terms = np.hstack([inside, *(inside * wrong[:, None] for wrong in self.wrong)])
        found, within = intervals(terms, self.texts, self._figures, self.seed)
        return [
            None if np.isnan(mean) else Estimate(float(mean), each.low, each.high)
            for mean, each in zip(found, within, strict=True)
        ]

    def _figures(self, sums: np.ndarray) -> np.ndarray:
        """(D, M) of sums (D, (1 + C)·(1 + G)): rows and, condition by condition, errors, overall and of each group."""
        counts, *errors = np.split(sums, 1 + len(self.wrong), axis=1)
        every = [self._of_condition(counts, of_condition) for of_condition in errors]
        return np.hstack([*every, *(other - every[0] for other in every[1:])])

    def _of_condition(self, counts: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """(D, 2 + 2·G) of rows and errors (D, 1 + G)."""
        rates = _shares(errors, counts)
        compared = rates[:, :1]
        if self.against == "background":
            compared = _shares(errors[:, :1] - errors[:, 1:], counts[:, :1] - counts[:, 1:])
        gaps = rates[:, 1:] - compared  # (D, G)
        enough = np.where(self.powered & ~np.isnan(gaps), gaps, -np.inf)
        largest = enough.max(1, keepdims=True, initial=-np.inf)
        return np.hstack([rates, gaps, np.where(np.isinf(largest), np.nan, largest)])

    def _dealt(self, condition: int) -> np.ndarray:
        """(D, P) gaps of the groups with rows enough, after dealing the errors of a condition anew among all rows; who
        is of which groups, and of several, stays."""
        wrong, generator = self.wrong[condition].astype(float), np.random.default_rng(self.seed)
        inside = np.hstack([np.ones((len(self.members), 1)), self.members]).astype(float)  # (R, 1 + G)
        counts, gaps = inside.sum(0, keepdims=True), []
        for _ in range(0, DRAWS, DRAWS_AT_A_TIME):
            anew = generator.permuted(np.tile(wrong, (DRAWS_AT_A_TIME, 1)), axis=1)  # (D, R)
            gaps.append(self._of_condition(counts, anew @ inside)[:, 1 + len(self.names) : -1][:, self.powered])
        return np.concatenate(gaps)

    def _chances(self, dealt: np.ndarray, gaps: Sequence[Estimate | None]) -> list[float | None]:
        """(G,) of each group, how often the largest of all dealt gaps (D, P), by their own spreads, reaches its gap."""
        found: list[float | None] = [None] * len(gaps)
        if not self.powered.any():
            return found
        spread = dealt.std(0)
        spread = np.where(spread > 0, spread, np.inf)  # no errors, or nothing but errors: no gap at all
        top = (dealt / spread).max(1)
        for place, each in zip(np.flatnonzero(self.powered).tolist(), spread, strict=True):
            gap = gaps[place]
            found[place] = None if gap is None else _reached(top, gap.mean / each)
        return found


def _of_few(rate: Estimate, gap: Estimate | None, rows: int) -> tuple[Estimate, Estimate | None]:
    """A rate and a gap with Wilson's interval of the rate: of few rows, without an error among them, all draws are the
    same, and would say that the rate is known."""
    within = interval(round(rate.mean * rows), rows)
    if gap is not None:
        compared = rate.mean - gap.mean
        gap = Estimate(gap.mean, within.low - compared, within.high - compared)
    return Estimate(rate.mean, within.low, within.high), gap


def _reached(drawn: np.ndarray, found: float) -> float:
    """How often what was drawn (D,) is at least as large as what was found, which counts as drawn too."""
    return (1 + int((drawn >= found - 1e-12).sum())) / (1 + len(drawn))


def _shares(parts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to have a share of."""
    parts, totals = np.broadcast_arrays(parts.astype(float), totals.astype(float))
    return np.divide(parts, totals, out=np.full(parts.shape, np.nan), where=totals > 0)
