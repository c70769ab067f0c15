"""How well a classifier tells its classes apart: one by one, and which of them it takes for which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from splade.evaluation.binomial import Interval, interval
from splade.evaluation.figure import COUNT, Cell, Column, Figure, Grid, Key, Results, Table, find, is_number, percent
from splade.evaluation.findings import first_few, too_few
from splade.evaluation.measure import MEASURES
from splade.evaluation.scores import Decisions, ScoreMeasure
from splade.tasks import Task

CHANCE = 0.025
"""The largest probability at which a difference in one direction is taken for chance no longer."""


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


def class_findings(scores: ClassScores) -> list[str]:
    """On labels that are given too often, too seldom or never, and on too few texts to say."""
    texts = sum(map(sum, scores.confusion))
    return [
        *_only(scores, texts),
        *_majority(scores, texts),
        *_never_given(scores),
        *_seldom_found(scores),
        *too_few(f"{texts:,} test texts", "accuracy", scores.accuracy_interval),
    ]


def _only(scores: ClassScores, texts: int) -> list[str]:
    only = [name for name, of in scores.per_class.items() if of.support == texts > 0]
    if not only:
        return []
    return [f"All test texts have the label '{only[0]}', so that accuracy says nothing of the other labels."]


def _majority(scores: ClassScores, texts: int) -> list[str]:
    """Whether the model beats always answering the most frequent label, by a sign test: where just one of the two is
    right, it must be the model more often than not."""
    label, figures = max(scores.per_class.items(), key=lambda item: item[1].support)
    number = list(scores.per_class).index(label)
    right, right_of_label = sum(row[i] for i, row in enumerate(scores.confusion)), scores.confusion[number][number]
    won, lost = right - right_of_label, figures.support - right_of_label
    if figures.support == texts or binom.sf(won - 1, won + lost, 0.5) <= CHANCE:
        return []
    more = "no more" if won <= lost else "not clearly more"
    return [
        f"Accuracy is {percent(scores.accuracy)}, {more} than the {percent(figures.support / max(1, texts))} of "
        f"always answering '{label}', so it does not show that anything was learned: read macro-F1 "
        f"({percent(scores.macro_f1)}) and the figures a label, and train longer or on more texts of the other labels."
    ]


def _never_given(scores: ClassScores) -> list[str]:
    never = [(of.support, name) for name, of in scores.per_class.items() if of.support and not of.predicted]
    named = [f"'{name}' ({support:,} test texts)" for support, name in sorted(never, key=lambda each: -each[0])]
    if not named:
        return []
    return [f"Never given to any text: the label {first_few(named)}; train longer or on more texts with it."]


def _seldom_found(scores: ClassScores) -> list[str]:
    """Labels that are given, and whose recall is, beyond chance, below half of the mean of the others'."""
    known = {name: of for name, of in scores.per_class.items() if of.support}
    total = sum(of.recall for of in known.values())
    seldom = []
    for name, of in known.items():
        others = (total - of.recall) / max(1, len(known) - 1)
        if of.predicted and interval(round(of.recall * of.support), of.support).high < others / 2:
            seldom.append((of.recall, f"'{name}' ({percent(of.recall)})"))
    if not seldom:
        return []
    named, mean = [text for _, text in sorted(seldom)], percent(total / len(known))
    return [
        f"Recall is less than half of the others' for the label {first_few(named)}, where the mean of all labels is "
        f"{mean}, which accuracy may hide: train on more texts with it, and see what they are taken for."
    ]


# --- how they are shown ----------------------------------------------------------------------------------------------

MANY = 12
"""From more classes than this on, nobody reads them all: the worst are shown, and the others on demand."""

WORST = 5
"""Classes shown of many, those of the lowest F1."""

CONFUSIONS = 5
"""Pairs of classes shown of those that are taken for each other."""

COLUMNS = (
    Column("F1", "f1"),
    Column("F1, dense head", "dense"),
    Column("precision", "precision"),
    Column("recall", "recall"),
    Column("texts", "support", COUNT),
    Column("predicted", "predicted", COUNT),
)


def class_table(results: Results) -> Grid | None:
    """Every class beside the dense baseline, in the model's order; of many the worst first, and the others folded."""
    classes, dense = find(results, "per_class") or {}, find(results, "dense.per_class") or {}
    found = {name: {**row, "dense": (dense.get(name) or {}).get("f1")} for name, row in classes.items()}
    having = [column for column in COLUMNS if any(is_number(row.get(column.key)) for row in found.values())]
    many = len(found) > MANY
    names = sorted(found, key=lambda name: found[name].get("f1") or 0.0) if many else list(found)
    rows = [[Cell(name), *(Cell(column.form.show(found[name].get(column.key))) for column in having)] for name in names]
    note = f"Of {len(found)} labels, those with the lowest F1." if many else ""
    return Grid(["label", *(column.title for column in having)], rows, WORST if many else None, note)


def confusion_table(names: Sequence[str], counts: Sequence[Sequence[int]]) -> Grid | None:
    """Which class (row) was taken for which (column), shaded by its share of the row; of many, the commonest pairs."""
    if len(counts) != len(names):
        return None
    if len(names) > MANY:
        return _commonest(names, counts)
    rows = [
        [Cell(name), *(_shaded(name, given, count, sum(row)) for given, count in zip(names, row, strict=True))]
        for name, row in zip(names, counts, strict=True)
    ]
    return Grid(["", *names], rows, note="A row is the label there is, a column the one given.")


def _shaded(name: str, given: str, count: int, whole: int) -> Cell:
    share = count / whole if whole else 0.0
    title = f"{count:,} of {whole:,} ({percent(share)}) of {name}: {given}"
    return Cell(f"{count:,}", share if count else None, name == given, title)


def _commonest(names: Sequence[str], counts: Sequence[Sequence[int]]) -> Grid:
    pairs = [
        (count, names[gold], names[given], sum(row))
        for gold, row in enumerate(counts)
        for given, count in enumerate(row)
        if gold != given and count
    ]
    commonest = sorted(pairs, key=lambda pair: -pair[0])[:CONFUSIONS]
    rows = [
        [Cell(gold), Cell(given), Cell(f"{count:,}"), Cell(f"{whole:,}")] for count, gold, given, whole in commonest
    ]
    return Grid(["label", "taken for", "how often", "of"], rows, note="Taken for another most often.")


def _interval(results: Results) -> str:
    low, high = (find(results, f"accuracy_interval.{end}") for end in ("low", "high"))
    return f"95 % interval {percent(low)} to {percent(high)}" if is_number(low) and is_number(high) else ""


@MEASURES.register("class_scores")
class ClassScoreMeasure(ScoreMeasure[ClassScores]):
    """Accuracy and F1 of a classifier, over the whole split and label by label."""

    title = "Label by label"
    about = (
        "Precision: share of the texts given a label that have it. Recall: share of the texts with a label that were "
        "given it. F1 is both in one."
    )
    tasks = ("classification",)
    figures = (
        Figure(
            "accuracy",
            "accuracy",
            "Share of held-out texts given the right label.",
            better="higher",
            headline=True,
            column="accuracy",
            panel=True,
            beside=_interval,
        ),
        Figure(
            "macro_f1",
            "macro-F1",
            "F1 averaged over the labels, rare ones counting alike.",
            better="higher",
            headline=True,
        ),
    )
    tables = (
        Table(
            "per_class",
            "per_class.<label>.{precision,recall,f1,support,predicted}",
            "Labels",
            "Precision, recall and F1 label by label, in the model's order; `support` texts have the label, "
            "`predicted` were given it; a share of nothing is 0.",
            class_table,
            brief=MANY,
        ),
        Table(
            "confusion",
            "confusion",
            "Confusions",
            "Counts of the whole split, a list a label: row the label of the texts, column the one they were given, "
            "both in the order of `per_class`.",
            lambda results: confusion_table(list(results.get("per_class") or ()), results.get("confusion") or []),
        ),
    )
    keys = (
        Key(
            "accuracy_interval.{low,high}",
            "Wilson's 95 % interval of the accuracy: what this many test texts can tell",
        ),
    )

    @staticmethod
    def score(task: Task, labels: Sequence[str], decisions: Decisions) -> ClassScores:
        return class_scores(labels, task.labels, decisions.classes)

    def findings(self, result: ClassScores) -> list[str]:
        return class_findings(result)
