"""Means over rows with their 95 % intervals, by bootstrap over texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splade.evaluation.bootstrap import intervals


@dataclass(frozen=True)
class Estimate:
    """A mean, and its 95 % interval."""

    mean: float
    low: float
    high: float


def estimates(values: np.ndarray, texts: np.ndarray, seed: int) -> list[Estimate | None]:
    """The mean over rows of each column of `values` (R, K); NaN: the row has no such value. None: no row has.

    `texts` (R,): the text of each row; the rows of one are drawn together.
    """
    values = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(values)
    if not known.any():
        return [None] * values.shape[1]
    columns = values.shape[1]

    def means(sums: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # 0/0: a draw without any value
            return sums[:, :columns] / sums[:, columns:]

    with np.errstate(all="ignore"):
        found, ends = intervals(np.hstack([np.where(known, values, 0.0), known]), texts, means, seed)
    return [
        Estimate(float(mean), within.low, within.high) if np.isfinite(mean) else None
        for mean, within in zip(found, ends, strict=True)
    ]


def estimate(values: np.ndarray, texts: np.ndarray, seed: int) -> Estimate | None:
    """The mean over rows (R,); see `estimates`."""
    return estimates(np.asarray(values)[:, None], texts, seed)[0]
