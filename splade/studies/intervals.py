"""A mean over a few seeds, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95

Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)

METHOD = (
    "Mean over seeds ± half of the 95 % t-interval, t(0.975, n − 1)·s/√n with the sample standard deviation s: n seeds "
    "are few, so Student's t and not the normal distribution. One seed gives no interval. Where an interval would "
    "leave what is possible, such as 0 to 100 % for a share, it is cut, and both its ends are given: [low, high]."
)


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    mean: float
    half: float | None
    """Half the width of the interval before it is cut; None for one value, which tells nothing of its spread."""
    values: list[float]
    bounds: Bounds = UNBOUNDED
    """The least and the greatest value that is possible."""

    @property
    def ends(self) -> Bounds | None:
        """Both ends of the interval, cut to what is possible; the mean stays inside, rounding or not."""
        if self.half is None:
            return None
        least, most = min(self.bounds[0], self.mean), max(self.bounds[1], self.mean)
        return max(least, self.mean - self.half), min(most, self.mean + self.half)

    @property
    def sides(self) -> Bounds | None:
        """How far the interval reaches below and above the mean."""
        return None if self.ends is None else (self.mean - self.ends[0], self.ends[1] - self.mean)

    @property
    def cut(self) -> bool:
        """Whether the whole interval would be more than is possible."""
        return self.half is not None and self.ends != (self.mean - self.half, self.mean + self.half)

    def to_json(self) -> dict[str, object]:
        """Mean, both ends of the interval, and the values they come from."""
        low, high = self.ends or (None, None)
        return {"mean": self.mean, "low": low, "high": high, "values": self.values}


def spread(values: Sequence[float], bounds: Bounds = UNBOUNDED) -> Spread:
    """Mean and t-interval: x̄ ± t(0.975, n − 1)·s/√n, cut to ``bounds``."""
    from scipy.stats import t  # takes half a second to load, and most commands do not need it

    n = len(values)
    half = float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * stdev(values) / math.sqrt(n) if n > 1 else None
    return Spread(fmean(values), half, [float(value) for value in values], bounds)
