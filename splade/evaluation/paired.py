"""Paired comparisons: what one explanation has less what ours has, text by text, and whether that can be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splade.evaluation.estimate import estimate

FEWEST_TEXTS = 20
"""Texts from which on a difference is spoken of: of fewer, a bootstrap draws too few different sets, and its interval
is too narrow."""


@dataclass(frozen=True)
class Difference:
    """A mean difference over the texts that have both values, with its 95 % interval by bootstrap over these."""

    mean: float
    low: float
    high: float
    texts: int

    @property
    def can_be_told(self) -> bool:
        """Whether there are texts enough to say anything."""
        return self.texts >= FEWEST_TEXTS

    @property
    def is_above(self) -> bool:
        """Whether theirs is higher, beyond chance."""
        return self.can_be_told and self.low > 0

    @property
    def is_below(self) -> bool:
        """Whether theirs is lower, beyond chance."""
        return self.can_be_told and self.high < 0


def paired_difference(theirs: np.ndarray, ours: np.ndarray, seed: int) -> Difference | None:
    """Theirs less ours, a value a text (N,) each; NaN: it has none. None: no text has both."""
    values = np.asarray(theirs, dtype=np.float64) - np.asarray(ours, dtype=np.float64)
    found = estimate(values, np.arange(len(values)), seed)
    return Difference(found.mean, found.low, found.high, int((~np.isnan(values)).sum())) if found else None
