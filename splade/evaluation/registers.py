"""Registers: vocabulary tokens that carry so much contribution that they store a class instead of meaning a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.word_weights import LIGHTEST, WordWeight, spoken_for
from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary


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
        self._sizes, self._toward = torch.zeros(2, len(self.labels), len(vocabulary), dtype=torch.float64)

    def add(self, attribution: SparseRows, classes: Tensor) -> None:
        """`attribution` to `classes` (R,), one a row."""
        self._rows += torch.bincount(classes, minlength=len(self._rows)).cpu()
        place = classes[attribution.row] * len(self.vocabulary) + attribution.token
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
