"""Registers: vocabulary tokens that carry so much contribution that they store a class instead of meaning a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.figure import Figure, Key, Results, find, is_number, percent
from splade.evaluation.findings import first_few
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.evaluation.word_weights import LIGHTEST, WordWeight, spoken_for
from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary
from splade.training.anchors import LARGEST_SHARE

LARGEST_SHARE_OF_CLASS = 0.5
"""The largest share of a class's |contribution| that one token may carry. Higher than `LARGEST_SHARE`, since a label
may well have a word of its own: *pin* has 23 % of Banking77's `get_physical_card`."""

ENOUGH_ROWS = 20
"""Below so many rows of a class, one token may carry it by chance."""


@dataclass(frozen=True)
class HeaviestToken:
    """The vocabulary token with the largest share of all |contribution| of some rows."""

    token: str
    share: float
    rows: int
    """Rows that is measured on: texts, or in tagging words."""


@dataclass(frozen=True)
class Heaviest(HeaviestToken):
    """The one of all rows, and that of each class."""

    by_class: dict[str, HeaviestToken]
    """By the class predicted, of those with any contribution."""


class RegisterMeter:
    """Sums contributions by class and token."""

    def __init__(self, labels: Sequence[str], vocabulary: Vocabulary):
        self.labels, self.vocabulary = list(labels), vocabulary
        self._rows = torch.zeros(len(self.labels), dtype=torch.long)
        self._token = vocabulary.at_any_offset
        columns = len(vocabulary) // len(vocabulary.offsets)
        self._sizes, self._toward = torch.zeros(2, len(self.labels), columns, dtype=torch.float64)

    def add(self, attribution: SparseRows, classes: Tensor) -> None:
        """`attribution` to `classes` (R,), one a row."""
        self._rows += torch.bincount(classes, minlength=len(self._rows)).cpu()
        token = self._token.to(attribution.token.device)[attribution.token]
        place = classes[attribution.row] * self._sizes.shape[1] + token
        for sums, value in ((self._sizes, attribution.value.abs()), (self._toward, attribution.value)):
            sums.view(-1).index_add_(0, place.cpu(), value.double().cpu())

    def result(self) -> Heaviest | None:
        """None: nothing contributed anything."""
        if float(self._sizes.sum()) == 0:
            return None
        of_all = self._heaviest(self._sizes.sum(0), int(self._rows.sum()))
        parts = zip(self.labels, self._sizes, self._rows.tolist(), strict=True)
        by_class = {label: self._heaviest(sizes, rows) for label, sizes, rows in parts if sizes.any()}
        return Heaviest(**vars(of_all), by_class=by_class)

    def heavy_tokens(self) -> list[WordWeight]:
        """The tokens of at least the share `LIGHTEST`, the heaviest first."""
        sizes, total = self._sizes.sum(0), float(self._sizes.sum())
        heavy = (sizes >= LIGHTEST * total).nonzero()[:, 0].tolist() if total else []
        return [
            WordWeight(
                self.vocabulary.names[token],
                float(sizes[token]) / total,
                spoken_for(self._toward[:, token].numpy(), self.labels),
            )
            for token in sorted(heavy, key=lambda token: -float(sizes[token]))
        ]

    def _heaviest(self, sizes: Tensor, rows: int) -> HeaviestToken:
        """Of sizes (V,), not all 0."""
        top = int(sizes.argmax())
        return HeaviestToken(self.vocabulary.names[top], float(sizes[top] / sizes.sum()), rows)


@dataclass(frozen=True)
class RegistersResult:
    """What one token carries."""

    heaviest: Heaviest | None
    """The vocabulary token that carries most; in tagging, at the words tagged as entities. None: nothing does."""


def _shown(results: Results) -> str | None:
    """The token and its share; older results have it with the lexicon."""
    found, lexicon = find(results, "grounding.heaviest") or {}, find(results, "grounding.lexicon") or {}
    token, share = (
        found.get("token") or lexicon.get("heaviest_token"),
        found.get("share", lexicon.get("heaviest_share")),
    )
    return f"{token}, {percent(share)}" if is_number(share) else None


@MEASURES.register("registers")
class Registers(Measure[RegistersResult]):
    """The vocabulary token that carries most of all contribution, and that of each class."""

    title = "Grounding"
    section = "grounding"
    figures = (
        Figure(
            "grounding.heaviest.share",
            "heaviest token",
            "The one vocabulary token that carries most; a large share would be a private code, not a reason.",
            better="lower",
            text=_shown,
        ),
    )
    keys = (
        Key(
            "grounding.heaviest.{token,share,rows,by_class}",
            "the vocabulary token with the largest share of all |contribution|, over `rows` {units}; "
            "`by_class.<label>.{token,share,rows}` the same of the {units} given that label; of a tagger, at the "
            "words tagged as entities; null where nothing contributes",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._meter = RegisterMeter(scope.model.labels, scope.model.vocabulary)

    def update(self, seen: Seen) -> None:
        rows = self.scope.task.reasoned(seen.classes)
        if rows is None:
            self._meter.add(seen.attribution, seen.classes)
        else:
            self._meter.add(seen.attribution.take(rows), seen.classes[rows])

    def result(self) -> RegistersResult:
        return RegistersResult(self._meter.result())

    def findings(self, result: RegistersResult) -> list[str]:
        return register_findings(result.heaviest)


def register_findings(heaviest: Heaviest | None) -> list[str]:
    """The token that carries too much of all; if none does, those that carry too much of a class."""
    if heaviest is None:
        return []
    if heaviest.share > LARGEST_SHARE:
        found = [f"'{heaviest.token}' carries {percent(heaviest.share)} of all contribution"]
    else:
        heavy = [
            (of.share, f"'{of.token}' carries {percent(of.share)} of the contribution to '{label}'")
            for label, of in heaviest.by_class.items()
            if of.share > LARGEST_SHARE_OF_CLASS and of.rows >= ENOUGH_ROWS
        ]
        found = [text for _, text in sorted(heavy, reverse=True)]
    if not found:
        return []
    return [
        f"The token {first_few(found)}, so that it may stand for a label instead of its meaning: read explanations "
        "that name it; if it is no reason, train with training.anchor=register or shut it out with suppress."
    ]
