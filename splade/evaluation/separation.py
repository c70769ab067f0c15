"""Separation: has each class reasons of its own?"""

from __future__ import annotations

from splade.circuits.metrics import SeparationMeter, SeparationResult
from splade.evaluation.figure import COSINE, SIZE_COSINE, Cell, Figure, Grid, Results, Table, find
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen

LIKENESSES = {
    "cosine": "cosine",
    "size_cosine": "cosine of sizes",
    "overlap": "cosine of sizes, all active tokens",
    "jaccard": "Jaccard",
}
"""Ways to compare two circuits, by the key of the results."""


def _table(results: Results) -> Grid | None:
    measured = find(results, "separation") or {}
    rows = [
        [Cell(title), *(Cell(COSINE.show(measured.get(name))) for name in (key, f"within_{key}"))]
        for key, title in LIKENESSES.items()
        if measured.get(key) is not None
    ]
    return Grid(["likeness", "between labels", "within a label"], rows)


@MEASURES.register("separation")
class Separation(Measure[SeparationResult]):
    """Likeness of the circuits of different classes, against that within one."""

    title = "Separation"
    about = (
        "How alike the words behind two predictions are: low between labels and higher within one means that each "
        "label has reasons of its own.{classification: With two labels a word for one is a word against the other, so "
        "the cosine is below 0 for any model.} The cosine of sizes asks whether the same words matter, whichever way "
        "they speak."
    )
    section = "separation"
    figures = (
        Figure(
            "separation.cosine",
            "cosine between classes",
            "Mean cosine between the mean circuits of two classes; below 0: what is for one is against the other.",
            COSINE,
            column="cosine",
            better="lower",
        ),
        Figure(
            "separation.within_cosine",
            "cosine within a class",
            "Mean cosine between the circuits of two {units} of one class.",
            COSINE,
            column="within_cosine",
        ),
        Figure(
            "separation.size_cosine",
            "cosine of sizes between classes",
            "Mean cosine between the mean circuits of two classes, contributions without their signs: whether the same "
            "words matter, whichever way they speak.",
            SIZE_COSINE,
            column="size_cosine",
            better="lower",
        ),
        Figure(
            "separation.within_size_cosine",
            "cosine of sizes within a class",
            "Mean cosine between the circuits of two {units} of one class, contributions without their signs.",
            SIZE_COSINE,
            column="within_size_cosine",
        ),
        Figure(
            "separation.overlap",
            "overlap of classes",
            "The cosine of sizes of all active tokens, which compares models that are not equally sparse.",
            SIZE_COSINE,
            column="overlap",
            panel=True,
            better="lower",
        ),
    )
    tables = (
        Table(
            "separation",
            "separation.{cosine,size_cosine,overlap,jaccard}, within_… of each",
            "Circuits of classes",
            "Likeness of circuits of different classes (mean circuits; the hundred tokens that matter most) and of "
            "{units} of one class. null: fewer than two classes were predicted, or of no class two {units}.",
            _table,
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._meter = SeparationMeter(len(scope.model.labels), scope.model.vocab_size, scope.share)

    def update(self, seen: Seen) -> None:
        self._meter.add(seen.state, seen.attribution, seen.classes)

    def result(self) -> SeparationResult:
        return self._meter.result(self.scope.seed)
