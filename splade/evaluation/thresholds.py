"""Thresholds: from which score on a text is called positive (hateful, toxic, …)."""

from __future__ import annotations

import numpy as np

from splade.errors import DataError

HALF = 0.0
"""The log-odds at which both are equally likely: the decision of the model itself."""


def best_f1_threshold(scores: np.ndarray, positive: np.ndarray) -> float:
    """The threshold of the highest F1 of the positive class, midway between the scores that it parts; above it is
    positive. `scores` and `positive`: (M,)."""
    values, flagged, hits = _counts_from_above(scores, positive)
    best = int(np.argmax(2 * hits / (flagged + positive.sum())))
    return _below(values, best)


def fpr_threshold(scores: np.ndarray, positive: np.ndarray, fpr: float) -> float:
    """The threshold above which a share of the negatives lies that is as near to `fpr` as equal scores allow."""
    negatives = scores[~positive]
    if not len(negatives):
        raise DataError(f"None of the {len(scores)} texts is negative, so that no threshold has a false positive rate.")
    values, flagged, _ = _counts_from_above(negatives, np.zeros(len(negatives), dtype=bool))
    rates = np.concatenate([[0.0], flagged / len(negatives)])
    nearest = int(np.argmin(np.abs(rates - fpr)))  # the lower of two that are as near
    return float(values[0]) if nearest == 0 else _below(values, nearest - 1)


def _counts_from_above(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different scores (U,), highest first; how many texts have one at least as high, and how many positive do."""
    values, place = np.unique(-scores, return_inverse=True)
    flagged = np.bincount(place, minlength=len(values)).cumsum()
    hits = np.bincount(place, positive.astype(float), len(values)).cumsum()
    return -values, flagged, hits


def _below(values: np.ndarray, place: int) -> float:
    """A threshold under one of the different scores, highest first, and above the next."""
    if place + 1 == len(values):
        return float(values[place]) - 1.0
    return float(values[place] + values[place + 1]) / 2
