"""How well a tagger finds entities: in all, type by type, and which type it takes for which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import interval
from splade.evaluation.class_scores import ConfusionMeter, confusion_table
from splade.evaluation.figure import COUNT, Column, Figure, Grid, Results, Table, find, rows_of
from splade.evaluation.findings import first_few, too_few
from splade.evaluation.measure import MEASURES
from splade.evaluation.scores import Decisions, ScoreMeasure
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


def entity_findings(scores: EntityScores) -> list[str]:
    """On types that are never found, and on too few entities to say."""
    missed = [f"{name} ({of.support:,})" for name, of in scores.per_type.items() if of.support and not of.recall]
    total = sum(of.support for of in scores.per_type.values())
    notes = [f"No entity of the type {first_few(missed)} was found: train longer or on more of them."] if missed else []
    return [
        *notes,
        *too_few(f"{total:,} entities in the test split", "recall", interval(round(scores.recall * total), total)),
    ]


# --- how they are shown ----------------------------------------------------------------------------------------------

COLUMNS = (
    Column("F1", "f1"),
    Column("F1, dense head", "dense"),
    Column("precision", "precision"),
    Column("recall", "recall"),
    Column("entities", "support", COUNT),
)


def type_table(results: Results) -> Grid | None:
    """Entities of each type, beside the dense baseline where there is one."""
    types, dense = find(results, "per_type") or {}, find(results, "dense.per_type") or {}
    found = {name: {**row, "dense": (dense.get(name) or {}).get("f1")} for name, row in types.items()}
    return rows_of("types", "type", COLUMNS)({"types": found})


@MEASURES.register("entity_scores")
class EntityScoreMeasure(ScoreMeasure[EntityScores]):
    """Precision, recall and F1 of a tagger's entities, over the whole split and type by type."""

    title = "Entities by type"
    about = "An entity counts as found if all its words and its type are right."
    tasks = ("tagging",)
    figures = (
        Figure(
            "f1",
            "entity F1",
            "Precision and recall in one; an entity must have all its words and its type right.",
            better="higher",
            headline=True,
            column="f1",
            panel=True,
        ),
        Figure("precision", "precision", "Share of the entities found that are right.", better="higher", headline=True),
        Figure("recall", "recall", "Share of the entities there are that were found.", better="higher", headline=True),
        Figure(
            "token_accuracy",
            "right tags",
            "Share of all words given the right tag; most are outside any entity.",
            better="higher",
            headline=True,
        ),
    )
    tables = (
        Table(
            "per_type",
            "per_type.<type>.{f1,precision,recall,support}",
            "Types",
            "F1, precision and recall by type of entity; `support` entities there are.",
            type_table,
            brief=12,
        ),
        Table(
            "confusion",
            "confusion",
            "Confusions",
            "Words by their type (row) and the one they were given (column): first O, then the types in the order of "
            "`per_type`.",
            lambda results: confusion_table(["O", *(results.get("per_type") or ())], results.get("confusion") or []),
        ),
    )

    @staticmethod
    def score(task: TaggingTask, labels: Sequence[str], decisions: Decisions) -> EntityScores:
        return entity_scores(task, decisions.classes)

    def findings(self, result: EntityScores) -> list[str]:
        return entity_findings(result)
