"""Scores: how good the decisions of any model are, explained or not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from splade.evaluation.measure import MEASURES, Measure, as_json
from splade.tasks import Task

Scores = TypeVar("Scores")


class ScoreMeasure(Measure[Scores]):
    """A measure of decisions alone, on every row, which a model without explanations can be held against too."""

    reads = "every row"

    @staticmethod
    @abstractmethod
    def score(task: Any, labels: Sequence[str], classes: np.ndarray) -> Any:
        """The scores of classes (N,) decided on for all rows of a task; `labels` (C,) by name."""

    def result(self) -> Scores:
        assert self.scope.classes is not None
        scores: Scores = self.score(self.scope.task, self.scope.model.labels, self.scope.classes)
        return scores


def score_decisions(task: Task, labels: Sequence[str], classes: np.ndarray) -> dict[str, Any]:
    """All scores of classes (N,) decided on for a task's rows, by any model, as `results.json` holds them."""
    scores: dict[str, Any] = {}
    for measure in MEASURES.entries():
        if issubclass(measure, ScoreMeasure) and measure.is_for(task.name):
            scores |= as_json(measure.score(task, labels, classes))
    return scores
