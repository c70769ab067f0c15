"""Thresholds, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from splade.errors import DataError
from splade.evaluation.thresholds import best_f1_threshold, fpr_threshold


def test_the_highest_f1_by_hand() -> None:
    """Flagged from above: 1 of 1 right, F1 2/4; 2 of 2, 4/5; then a negative, 4/6; then the last positive, 6/7."""
    scores = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    assert best_f1_threshold(scores, np.array([1, 1, 0, 1, 0], dtype=bool)) == 0.5
    assert best_f1_threshold(scores, np.array([1, 1, 0, 0, 0], dtype=bool)) == 2.5
    assert best_f1_threshold(scores, np.ones(5, dtype=bool)) == -1.0, "all are flagged"


def test_the_highest_f1_of_all_thresholds() -> None:
    generator = np.random.default_rng(3)
    for _ in range(20):
        positive = generator.random(60) < 0.3
        scores = np.round(positive + generator.normal(0, 1, 60), 1)  # with equal ones
        found = f1_score(positive, scores > best_f1_threshold(scores, positive))
        assert found == max(f1_score(positive, scores > at) for at in [*(scores - 1e-6), 9.0])


@pytest.mark.parametrize(("fpr", "flagged"), [(0.0, 0), (0.25, 1), (0.5, 2), (0.6, 2), (1.0, 4), (0.375, 1)])
def test_a_false_positive_rate_is_met_as_nearly_as_can_be(fpr: float, flagged: int) -> None:
    scores, positive = np.array([3.0, 2.0, 1.0, 0.0, 5.0]), np.array([0, 0, 0, 0, 1], dtype=bool)
    assert (scores[~positive] > fpr_threshold(scores, positive, fpr)).sum() == flagged


def test_equal_scores_cannot_be_parted() -> None:
    scores, positive = np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([0, 0, 0, 0, 1], dtype=bool)
    assert (scores[~positive] > fpr_threshold(scores, positive, 0.25)).sum() == 0
    assert (scores[~positive] > fpr_threshold(scores, positive, 0.5)).sum() == 3


def test_without_negatives_there_is_no_such_threshold() -> None:
    with pytest.raises(DataError, match="None of the 2 texts is negative"):
        fpr_threshold(np.zeros(2), np.ones(2, dtype=bool), 0.1)
