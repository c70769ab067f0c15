"""Sentences on what a reader of the figures should not miss: what was found, why it matters, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from splade.evaluation.binomial import Interval
from splade.evaluation.figure import percent

NAMED = 3
"""Labels or words that a sentence names; of more it says how many."""

WIDEST = 0.1
"""The widest 95 % interval of a split that is large enough: ±5 points. Models that are compared differ by less."""


def too_few(counted: str, figure: str, within: Interval) -> list[str]:
    if within.high - within.low <= WIDEST:
        return []
    return [
        f"With {counted}, {figure} is only known to lie between {percent(within.low)} and {percent(within.high)} "
        "(95 % interval): use more before you compare models by it."
    ]


def first_few(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = len(names) - NAMED
    return listed([*names[:NAMED], *([f"{more} more"] if more > 0 else [])])


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
