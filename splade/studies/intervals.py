"""A mean over a few seeds, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95

METHOD = (
    "Mean over seeds ± half of the 95 % t-interval, t(0.975, n − 1)·s/√n with the sample standard deviation s: n seeds "
    "are few, so Student's t and not the normal distribution. One seed gives no interval."
)


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    mean: float
    half: float | None
    """Half the width of the interval; None for one value, which tells nothing of its spread."""
    values: list[float]

    def to_json(self) -> dict[str, object]:
        """Mean, both ends of the interval, and the values they come from."""
        low, high = (None, None) if self.half is None else (self.mean - self.half, self.mean + self.half)
        return {"mean": self.mean, "low": low, "high": high, "values": self.values}


def spread(values: Sequence[float]) -> Spread:
    """Mean and t-interval: x̄ ± t(0.975, n − 1)·s/√n."""
    from scipy.stats import t  # takes half a second to load, and most commands do not need it

    n = len(values)
    half = float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * stdev(values) / math.sqrt(n) if n > 1 else None
    return Spread(fmean(values), half, [float(value) for value in values])
