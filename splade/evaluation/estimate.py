"""Means over rows with their 95 % intervals, by bootstrap over texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from splade.evaluation.bootstrap import intervals
from splade.evaluation.figure import INTERVAL, Cell, Form, Results, find, is_number


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
    known = ~np.isnan(values)  # (R, K)
    measured = known.any(0)
    found: list[Estimate | None] = [None] * len(measured)
    if not measured.any():
        return found

    def means(sums: np.ndarray) -> np.ndarray:
        totals, counts = np.hsplit(sums, 2)
        return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)  # a draw may have none

    terms = np.hstack([np.where(known, values, 0.0)[:, measured], known[:, measured]])
    for column, mean, within in zip(np.flatnonzero(measured), *intervals(terms, texts, means, seed), strict=True):
        found[column] = Estimate(float(mean), within.low, within.high)
    return found


def estimate(values: np.ndarray, texts: np.ndarray, seed: int) -> Estimate | None:
    """The mean over rows (R,); see `estimates`."""
    return estimates(np.asarray(values)[:, None], texts, seed)[0]


def beside_estimate(key: str, form: Form, random: str = "") -> Callable[[Results], str]:
    """What goes with an estimate at a key: its interval, and the mean of chance at another."""

    def said(results: Results) -> str:
        low, high, chance = (find(results, place) for place in (f"{key}.low", f"{key}.high", f"{random}.mean"))
        parts = [f"95 % interval {form.show(low)} to {form.show(high)}"] if is_number(low) and is_number(high) else []
        return "; ".join(parts + ([f"random tokens {form.show(chance)}"] if is_number(chance) else []))

    return said


def estimate_cell(found: Mapping[str, Any] | None, form: Form) -> Cell:
    """An estimate as `results.json` holds it, with its interval."""
    mean, low, high = ((found or {}).get(key) for key in ("mean", "low", "high"))
    within = f"{INTERVAL}{form.show(low)} to {form.show(high)}" if is_number(low) and is_number(high) else ""
    return Cell(form.show(mean), title=within)
