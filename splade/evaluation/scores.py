"""Scores: how good the decisions of any model are, explained or not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from splade.evaluation.measure import MEASURES, Measure
from splade.tasks import Task

Scores = TypeVar("Scores")


@dataclass(frozen=True)
class Decisions:
    """What any model says of all rows of a task, and how surely."""

    logits: Tensor
    """(N, C)."""
    classes: np.ndarray
    """(N,) decided on, which in tagging need not be the most probable one by one."""


class ScoreMeasure(Measure[Scores]):
    """A measure of decisions alone, on every row, which a model without explanations can be held against too."""

    reads = "every row"

    @staticmethod
    @abstractmethod
    def score(task: Any, labels: Sequence[str], decisions: Decisions) -> Any:
        """The scores of what was decided for all rows of a task; `labels` (C,) by name."""

    def result(self) -> Scores:
        assert self.scope.logits is not None and self.scope.classes is not None
        decisions = Decisions(self.scope.logits, self.scope.classes)
        scores: Scores = self.score(self.scope.task, self.scope.model.labels, decisions)
        return scores


def score_decisions(task: Task, labels: Sequence[str], logits: Tensor) -> dict[str, Any]:
    """All scores of the logits (N, C) of a task's rows, by any model, as `results.json` holds them."""
    decisions = Decisions(logits, task.decide_classes(logits))
    scores: dict[str, Any] = {}
    for measure in MEASURES.entries():
        if issubclass(measure, ScoreMeasure) and measure.is_for(task.name):
            place = scores.setdefault(measure.section, {}) if measure.section else scores
            place |= measure.to_json(measure.score(task, labels, decisions))
    return scores
