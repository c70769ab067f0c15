"""How well a classifier tells its classes apart: one by one, and which of them it takes for which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import Interval, interval


@dataclass(frozen=True)
class ClassFigures:
    """One class against all others; a share of nothing is 0."""

    precision: float
    recall: float
    f1: float
    support: int
    """Texts of the class."""
    predicted: int
    """Texts given the class."""


@dataclass(frozen=True)
class ClassScores:
    """How well texts are classified."""

    accuracy: float
    macro_f1: float
    """Mean over the classes that any text has or was given."""
    accuracy_interval: Interval
    per_class: dict[str, ClassFigures]
    """By label, in the model's order."""
    confusion: list[list[int]]
    """Texts by their class (row) and the one they were given (column), in the order of `per_class`."""


class ConfusionMeter:
    """Counts which class is taken for which."""

    def __init__(self, labels: Sequence[str]):
        self.labels = list(labels)
        self.counts = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        """(C, C): true class, class given."""

    def add(self, gold: np.ndarray, given: np.ndarray) -> None:
        """True classes (R,) and those given (R,)."""
        np.add.at(self.counts, (gold, given), 1)

    def result(self) -> ClassScores:
        right, support, predicted = self.counts.diagonal(), self.counts.sum(1), self.counts.sum(0)  # (C,) each
        precision, recall = _share(right, predicted), _share(right, support)
        f1 = _share(2 * right, support + predicted)
        known, total = support + predicted > 0, int(support.sum())
        figures = (each.tolist() for each in (precision, recall, f1, support, predicted))
        return ClassScores(
            accuracy=int(right.sum()) / total if total else 0.0,
            macro_f1=float(f1[known].mean()) if known.any() else 0.0,
            accuracy_interval=interval(int(right.sum()), total),
            per_class={label: ClassFigures(*each) for label, *each in zip(self.labels, *figures, strict=True)},
            confusion=self.counts.tolist(),
        )


def class_scores(labels: Sequence[str], gold: np.ndarray, given: np.ndarray) -> ClassScores:
    """The scores of classes given (N,) to texts of the classes `gold` (N,)."""
    meter = ConfusionMeter(labels)
    meter.add(gold, given)
    return meter.result()


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
