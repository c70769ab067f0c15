"""How well a tagger finds entities: in all, type by type, and which type it takes for which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from splade.evaluation.per_class import ConfusionMeter
from splade.tasks import TaggingTask


@dataclass(frozen=True)
class Entities:
    """Entities found against those there are; one counts as found if its words and its type are right (`seqeval`)."""

    precision: float
    recall: float
    f1: float
    support: int
    """Entities there are."""


@dataclass(frozen=True)
class EntityScores:
    """How well tags name entities."""

    f1: float
    """Micro-averaged over the entities of all types, as the two that follow."""
    precision: float
    recall: float
    per_type: dict[str, Entities]
    token_accuracy: float
    """Share of words with the right tag."""
    confusion: list[list[int]]
    """Words by their type (row) and the one they were given (column): first O, then as in `per_type`."""


def entity_scores(task: TaggingTask, tags: np.ndarray) -> EntityScores:
    """The scores of tags (N,) of all words of the task."""
    from seqeval.metrics import classification_report

    report = classification_report(task.names(task.labels), task.names(tags), output_dict=True, zero_division=0)
    found = {
        name: Entities(float(row["precision"]), float(row["recall"]), float(row["f1-score"]), int(row["support"]))
        for name, row in report.items()
    }
    micro = found.get("micro avg", Entities(0.0, 0.0, 0.0, 0))
    per_type = {name: row for name, row in found.items() if not name.endswith(" avg")}
    right = float((tags == task.labels).mean())
    return EntityScores(micro.f1, micro.precision, micro.recall, per_type, right, _type_confusion(task, tags, per_type))


def _type_confusion(task: TaggingTask, tags: np.ndarray, types: Iterable[str]) -> list[list[int]]:
    """Counts (T + 1, T + 1) of words; no word is of a type that is not among `types`, or was given one."""
    number = {name: place for place, name in enumerate(["O", *types])}
    of_tag = np.array([number.get(tag.partition("-")[2] or tag, 0) for tag in task.iob2.labels])  # (C,)
    meter = ConfusionMeter(list(number))
    meter.add(of_tag[task.labels], of_tag[tags])
    return meter.counts.tolist()
