"""Figures a class, and which class is taken for which, as a person reads them.

Every key of the results is optional; without the figures there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splade.reporting.figures import percent, unit

MANY = 12
"""From more classes than this on, nobody reads them all: the worst are shown, and the others counted or folded."""

WORST = 5
"""Classes shown of many, those of the lowest F1."""

CONFUSIONS = 5
"""Pairs of classes shown of those that are taken for each other."""

STRONGEST = 0.65
"""Opacity behind a cell that holds its whole row."""


@dataclass(frozen=True)
class ClassRow:
    """One class; what was not measured is None."""

    name: str
    f1: float | None
    dense: float | None
    """F1 of the dense baseline."""
    precision: float | None
    recall: float | None
    support: int | None
    predicted: int | None


@dataclass(frozen=True)
class Confused:
    """Texts (of a tagger words) of one class that were given another."""

    gold: str
    given: str
    count: int
    of: int
    """Texts of the class."""


@dataclass(frozen=True)
class Cell:
    """Texts of one class that were given a class."""

    count: str
    kind: str
    """`toward` on the diagonal, `against` off it, empty for none."""
    opacity: float
    title: str


@dataclass(frozen=True)
class MatrixRow:
    """What the texts of one class were given."""

    name: str
    cells: list[Cell]


def class_rows(results: Mapping[str, Any]) -> list[ClassRow]:
    """Every class in the model's order, beside the dense baseline where there is one."""
    dense = (results.get("dense") or {}).get("per_class") or {}
    keys = ("precision", "recall", "support", "predicted")
    return [
        ClassRow(name, found.get("f1"), (dense.get(name) or {}).get("f1"), *(found.get(key) for key in keys))
        for name, found in (results.get("per_class") or {}).items()
    ]


def shown_and_others(rows: list[ClassRow]) -> tuple[list[ClassRow], list[ClassRow]]:
    """The classes to show, and those left: all and none, or of many the worst first."""
    if len(rows) <= MANY:
        return rows, []
    worst_first = sorted(rows, key=lambda row: row.f1 or 0.0)
    return worst_first[:WORST], worst_first[WORST:]


def confusions(results: Mapping[str, Any]) -> list[Confused]:
    """The most frequent ones, the most frequent first."""
    names, counts = _labelled(results)
    found = [
        Confused(names[i], names[j], count, sum(row))
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(found, key=lambda one: -one.count)[:CONFUSIONS]


def confusion_matrix(results: Mapping[str, Any]) -> list[MatrixRow]:
    """Row by row, a cell shaded by its share of the row; none where classes are many."""
    names, counts = _labelled(results)
    if len(names) > MANY:
        return []
    return [
        MatrixRow(name, _cells(row, own, names, unit(results)))
        for own, (name, row) in enumerate(zip(names, counts, strict=True))
    ]


def _cells(row: list[int], own: int, names: list[str], what: str) -> list[Cell]:
    whole = sum(row)
    return [
        Cell(
            f"{count:,}",
            "" if not count else "toward" if j == own else "against",
            round(STRONGEST * count / whole, 3) if whole else 0.0,
            f"{count:,} of {whole:,} {what}s ({percent(count / whole if whole else 0.0)}) of {names[own]}: {names[j]}",
        )
        for j, count in enumerate(row)
    ]


def _labelled(results: Mapping[str, Any]) -> tuple[list[str], list[list[int]]]:
    """The names of the rows and columns, and the counts; of a tagger the types, with O first."""
    counts = results.get("confusion") or []
    names = list(results.get("per_class") or ["O", *(results.get("per_type") or {})])
    return (names, counts) if len(counts) == len(names) else ([], [])
