"""Which texts are looked at where not all of them are."""

from __future__ import annotations

import numpy as np

from splade.config.numbers import ALL_ROWS
from splade.data.splits import TEST_SEED


def sampled(rows: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are looked at, ascending, and the others: all and none if there are no more than `most` or it is -1.

    Always the same ones, whatever the run's seed, so that seeds are compared on the same texts.
    """
    if most == ALL_ROWS or most >= rows:
        return np.arange(rows), np.arange(0)
    order = np.random.default_rng(TEST_SEED).permutation(rows)
    return np.sort(order[:most]), np.sort(order[most:])
