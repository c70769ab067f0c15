"""Self-activation: is a word's own token the most active at its place?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.evaluation.figure import Figure, Key
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.models.encoder import SparseSequence


@dataclass(frozen=True)
class SelfActivationResult:
    """How often a word speaks for itself."""

    self_activation: float
    """Share of whole-word positions with anything active where the word's own token is the most active."""
    texts: int
    """Texts that this and `frozen_share` were measured on."""


def most_active_columns(sequence: SparseSequence) -> Tensor:
    """(B, L) the column of the highest activation at each position; −1 where nothing is active."""
    position, column, value = sequence.active_pairs()
    size = sequence.input_ids.numel()
    highest = value.new_zeros(size).scatter_reduce(0, position, value, "amax")
    first = value == highest[position]
    none = sequence.encoder.vocab_size
    most_active = torch.full((size,), none, device=column.device)
    most_active = most_active.scatter_reduce(0, position[first], column[first], "amin")
    return torch.where(most_active == none, -1, most_active).view_as(sequence.input_ids)


@MEASURES.register("self_activation")
class SelfActivation(Measure[SelfActivationResult]):
    """How often the token of a word is the most active of those that fire there."""

    title = "Grounding"
    section = "grounding"
    reads = "sample"
    figures = (
        Figure(
            "grounding.self_activation",
            "own word first",
            "Of the words that are one token and where anything fires: how often that token is the most active.",
            better="higher",
        ),
    )
    keys = (
        Key("grounding.texts", "texts of `self_activation` and `frozen_share`, a sample that every seed has in common"),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        vocabulary, device = scope.model.vocabulary, scope.model.device
        starts, wordlike = (mask.to(device) for mask in (vocabulary.starts_word, vocabulary.wordlike))
        self._goes_on = wordlike & ~starts  # (V,): further pieces of a word
        self._begins = starts & wordlike  # (V,)
        self._own = self._spoken = 0

    def update(self, seen: Seen) -> None:
        model, ids = self.scope.model, seen.batch.input_ids
        most_active = most_active_columns(self.scope.task.sequence(model, seen.batch))  # (B, L)
        split = F.pad(self._goes_on[ids[:, 1:]], (0, 1))  # (B, L): the word has a piece more
        speaks = (most_active >= 0) & self._begins[ids] & ~split
        self._own += int((speaks & (model.encoder.base[most_active] == ids)).sum())
        self._spoken += int(speaks.sum())

    def result(self) -> SelfActivationResult:
        return SelfActivationResult(self._own / self._spoken if self._spoken else 0.0, len(self.scope.sample))
