"""Intervals by bootstrap: they hold what they should as often as they say, and texts are drawn with all their rows."""

from __future__ import annotations

import numpy as np
import pytest

from splade.evaluation.bootstrap import intervals
from splade.evaluation.estimate import Estimate, estimate, estimates


def of_rows(values: np.ndarray, seed: int = 0) -> Estimate:
    """The mean of values that are each of a text of its own."""
    found = estimate(values, np.arange(len(values)), seed)
    assert found is not None
    return found


def test_the_interval_of_a_mean_is_as_wide_as_theory_says() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, size=400)
    found = of_rows(values, seed=1)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_it_holds_the_truth_in_about_95_of_100_samples() -> None:
    generator = np.random.default_rng(0)
    found = [of_rows(generator.uniform(size=60), seed) for seed in range(200)]
    assert 0.9 < np.mean([one.low <= 0.5 <= one.high for one in found]) < 0.99


def test_rows_of_one_text_are_drawn_together() -> None:
    """Ten rows of each of twenty texts that are all alike tell no more than one row of each."""
    texts = np.repeat(np.arange(20), 10)
    of_text = np.random.default_rng(0).normal(size=20)
    together, alone, apart = estimate(of_text[texts], texts, 0), of_rows(of_text), of_rows(of_text[texts])
    assert together is not None
    assert (together.low, together.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert together.high - together.low > 2.5 * (apart.high - apart.low)


def test_a_row_without_a_value_is_left_out() -> None:
    values = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    first, second, none = estimates(values, np.arange(2), 0)
    assert first is not None and first.mean == 2.0
    assert second == Estimate(5.0, 5.0, 5.0) and none is None
    assert estimates(np.zeros((0, 2)), np.zeros(0), 0) == [None, None]


def test_draws_follow_the_seed() -> None:
    values = np.random.default_rng(0).normal(size=50)
    assert of_rows(values, 4) == of_rows(values, 4) != of_rows(values, 5)


def test_any_figure_of_sums() -> None:
    """The correlation of two columns, which is about √½."""
    x = np.random.default_rng(0).normal(size=300)
    y = x + np.random.default_rng(1).normal(size=300)

    def correlation(sums: np.ndarray) -> np.ndarray:
        n, sx, sy, sxx, syy, sxy = sums.T
        return ((n * sxy - sx * sy) / np.sqrt((n * sxx - sx**2) * (n * syy - sy**2)))[:, None]

    terms = np.stack([np.ones(300), x, y, x * x, y * y, x * y], 1)
    found, (within,) = intervals(terms, np.arange(300), correlation, seed=0)
    assert found[0] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert within.low < np.sqrt(0.5) < within.high and within.high - within.low < 0.15
