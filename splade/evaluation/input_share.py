"""Input share: do contributions stand on words that are there?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.figure import Figure
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.models.sparse import SparseRows


@dataclass(frozen=True)
class InputShareResult:
    """Where contributions stand."""

    input_share: float
    """Share of |contribution| on tokens that are in the row's text; in tagging, on the word itself, and where the words
    around it speak too, on tokens that stand where they speak."""


def size_on_input(
    input_ids: Tensor,
    row_of_position: Tensor | None,
    attribution: SparseRows,
    base: Tensor | None = None,
    tokens: int | None = None,
) -> tuple[float, float]:
    """|attribution| on tokens that stand at the positions of their row, and in all.

    Args:
        input_ids: (B, L).
        row_of_position: (B, L) the row of each position, −1 for none; None: a token must stand where it fired.
        base: (V,) the token that each column is a sense of.
        tokens: the tokenizer's; what comes after are words that it splits, which only fire where they stand.
    """
    token = attribution.token if base is None else base[attribution.token]
    if row_of_position is None:
        on_input = input_ids.flatten()[attribution.position] == token
    else:
        keys = (row_of_position * attribution.vocab_size + input_ids)[row_of_position >= 0]
        on_input = torch.isin(attribution.row * attribution.vocab_size + token, keys)
    if tokens is not None:
        on_input |= token >= tokens
    size = attribution.value.abs()
    return float(size[on_input].sum()), float(size.sum())


@MEASURES.register("input_share")
class InputShare(Measure[InputShareResult]):
    """The share of contributions on tokens of the input."""

    title = "Grounding"
    about = "Do the words mean what they say? A sum can be exact and still name words nobody can believe."
    section = "grounding"
    figures = (
        Figure(
            "grounding.input_share",
            "on words of the input",
            "Share of the contribution from {classification:words that stand in the text}{tagging:the word itself, or "
            "with `model.context` words that stand in the sentence}.",
            column="input_share",
            panel=True,
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._on_input = self._total = 0.0

    def update(self, seen: Seen) -> None:
        model = self.scope.model
        rows = self.scope.task.row_of_position(seen.batch) if model.encoder.context is None else None
        on_input, total = size_on_input(
            seen.batch.input_ids, rows, seen.attribution, model.encoder.base, model.backbone.vocab_size
        )
        self._on_input, self._total = self._on_input + on_input, self._total + total

    def result(self) -> InputShareResult:
        return InputShareResult(self._on_input / self._total if self._total else 0.0)
