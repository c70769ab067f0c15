"""Strongest tokens: does an explanation say something of the word, or only repeat its tag?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.figure import COUNT, SHARE, Cell, Grid, Results, Table
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary


@dataclass(frozen=True)
class StrongestToken:
    """What speaks loudest for a class: one token at all its rows would repeat the class, and say nothing of the row."""

    token: str
    """The one that is the strongest of a row most often, wherever in the sentence it stands …"""
    share: float
    """… and at which share of the rows of the class that have any active token."""
    different: int
    """How many tokens are ever the strongest, the one that adds most to the logit."""
    rows: int


@dataclass(frozen=True)
class StrongestResult:
    """What speaks loudest."""

    strongest: dict[str, StrongestToken]
    """By class, of those with any row."""


class StrongestMeter:
    """Counts, class by class, which token adds most to the class's own logit."""

    def __init__(self, labels: Sequence[str], vocabulary: Vocabulary):
        self.labels, self.vocabulary = labels, vocabulary
        self._token = vocabulary.at_any_offset
        self._counts = torch.zeros(len(labels), len(vocabulary) // len(vocabulary.offsets), dtype=torch.long)

    def add(self, attribution: SparseRows, classes: Tensor) -> None:
        """`attribution` to `classes` (R,), one a row."""
        first = attribution.rank_in_row(attribution.value) == 0
        token = self._token.to(attribution.token.device)[attribution.token[first]]
        place = classes[attribution.row[first]] * self._counts.shape[1] + token
        self._counts += torch.bincount(place.cpu(), minlength=self._counts.numel()).view_as(self._counts)

    def result(self) -> dict[str, StrongestToken]:
        """By class, of those with any row."""
        strongest = {}
        for label, counts in zip(self.labels, self._counts, strict=True):
            rows, top = int(counts.sum()), int(counts.argmax())
            if rows:
                share, different = int(counts[top]) / rows, int((counts > 0).sum())
                strongest[label] = StrongestToken(self.vocabulary.names[top], share, different, rows)
        return strongest


def _table(results: Results) -> Grid | None:
    rows = [
        [
            Cell(tag),
            Cell(str(strongest.get("token"))),
            Cell(SHARE.show(strongest.get("share"))),
            *(Cell(COUNT.show(strongest.get(key))) for key in ("different", "rows")),
        ]
        for tag, strongest in (results.get("strongest") or {}).items()
    ]
    return Grid(["tag", "strongest token", "of its words", "different ones", "words"], rows)


@MEASURES.register("strongest")
class Strongest(Measure[StrongestResult]):
    """The token that most often adds most to a tag's logit."""

    title = "Strongest tokens"
    about = "Near 100 %, the strongest token only repeats the tag and says little of the word."
    tasks = ("tagging",)
    tables = (
        Table(
            "strongest",
            "strongest.<tag>.{token,share,different,rows}",
            "Strongest for a tag",
            "The token that most often adds most to a tag's logit, at which share of the `rows` words with that tag, "
            "and how many tokens ever do.",
            _table,
            brief=3,
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._meter = StrongestMeter(scope.model.labels, scope.model.vocabulary)

    def update(self, seen: Seen) -> None:
        self._meter.add(seen.attribution, seen.classes)

    def result(self) -> StrongestResult:
        return StrongestResult(self._meter.result())
