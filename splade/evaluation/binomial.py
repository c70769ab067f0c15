"""What a share counted on a few rows says of the share on all rows there could be."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

NORMAL = 1.96
"""Standard deviations within which a normal variable lies 95 % of the time."""


@dataclass(frozen=True)
class Interval:
    """A share's 95 % interval."""

    low: float
    high: float


def interval(hits: int, of: int) -> Interval:
    """Wilson's interval of the share `hits` / `of`, which also holds near 0 and 1 and for few rows; of none, all.

    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n); Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    if of == 0:
        return Interval(0.0, 1.0)
    share, square = hits / of, NORMAL**2 / of
    half = NORMAL * sqrt(share * (1 - share) / of + square / (4 * of))
    low, high = ((share + square / 2 + side) / (1 + square) for side in (-half, half))
    return Interval(max(0.0, low), min(1.0, high))
