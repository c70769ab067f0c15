"""What figures of some texts say of all texts there could be: percentiles of the same figures over texts drawn anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from splade.evaluation.binomial import Interval

DRAWS = 1000
"""Sets of texts drawn: the ends of an interval are then known to about a fortieth of its length."""

DRAWS_AT_A_TIME = 50
"""Of 10,000 texts, the numbers of times each was drawn are then 4 MB."""


def intervals(
    terms: np.ndarray, texts: np.ndarray, figures: Callable[[np.ndarray], np.ndarray], seed: int
) -> tuple[np.ndarray, list[Interval]]:
    """Figures (M,) of sums over rows, and their 95 % intervals by bootstrap over texts.

    Args:
        terms: (R, K) what is summed over rows.
        texts: (R,) the text of each row; the rows of one are drawn together.
        figures: from sums (D, K) to figures (D, M), such as ratios of sums.
    """
    _, text = np.unique(texts, return_inverse=True)
    number = int(text.max()) + 1
    sums = np.stack([np.bincount(text, column, number) for column in terms.T], 1)  # (T, K)
    drawn = np.concatenate([figures(times @ sums) for times in draws(number, seed)])
    return figures(sums.sum(0, keepdims=True))[0], percentile_intervals(drawn)


def draws(number: int, seed: int) -> Iterator[np.ndarray]:
    """How often each of so many texts is drawn (D, T), some draws at a time; the same for the same seed."""
    generator = np.random.default_rng(seed)
    for _ in range(0, DRAWS, DRAWS_AT_A_TIME):
        yield generator.multinomial(number, np.full(number, 1 / number), DRAWS_AT_A_TIME)


def percentile_intervals(drawn: np.ndarray) -> list[Interval]:
    """The 95 % intervals of figures (D, M) of all draws; a draw without a figure has NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a figure that no draw has is NaN
        low, high = np.nanpercentile(drawn, (2.5, 97.5), axis=0)  # (M,) each
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
