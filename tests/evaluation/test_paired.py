"""Differences of two explanations, text by text."""

from __future__ import annotations

import numpy as np
import pytest

from splade.evaluation.paired import FEWEST_TEXTS, Difference, paired_difference


def test_by_hand() -> None:
    """Of three texts one has no value: (1 − 0 + 3 − 1)/2."""
    found = paired_difference(np.array([1.0, np.nan, 3.0]), np.array([0.0, 5.0, 1.0]), 0)
    assert found is not None and (found.mean, found.texts) == (1.5, 2) and found.low <= 1.5 <= found.high
    assert paired_difference(np.array([np.nan]), np.array([1.0]), 0) is None


def test_the_pairs_are_kept() -> None:
    """Texts differ by far more than the explanations do, and these always the same way."""
    ours = np.random.default_rng(0).normal(0, 10, 30)
    found = paired_difference(ours + 0.1, ours, 0)
    assert found is not None and found.is_above and not found.is_below
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_of_few_texts_nothing_is_told() -> None:
    assert Difference(-0.2, -0.3, -0.1, FEWEST_TEXTS).is_below
    assert not Difference(-0.2, -0.3, -0.1, FEWEST_TEXTS - 1).is_below
    assert not Difference(0.2, -0.1, 0.3, 1000).is_above
