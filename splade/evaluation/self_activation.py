"""Self-activation: is a word's own token the most active at its place?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.evaluation.figure import Figure, Key
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.models.encoder import SparseSequence
from splade.models.vocabulary import is_stop
from splade.models.word_reader import words_in_pieces


@dataclass(frozen=True)
class SelfActivationResult:
    """How often a word speaks for itself."""

    self_activation: float
    """Share of whole-word positions with anything active where the word's own token is the most active."""
    split_word_first: float | None
    """Share of the words that the tokenizer splits, stop words and numbers left out, whose own column is the most
    active where they stand; None: there are none, or such words have no columns of their own."""
    split_words: int
    """Of these."""
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
        Figure(
            "grounding.split_word_first",
            "own column first, of split words",
            "Of the words that the tokenizer splits, stop words and numbers left out: how often their own column is "
            "the most active where they stand; one that is silent counts as not.",
            better="higher",
            brief=False,
        ),
    )
    keys = (
        Key("grounding.split_words", "words that `split_word_first` was counted on"),
        Key("grounding.texts", "texts of `self_activation` and `frozen_share`, a sample that every seed has in common"),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        vocabulary, device = scope.model.vocabulary, scope.model.device
        starts, wordlike = (mask.to(device) for mask in (vocabulary.starts_word, vocabulary.wordlike))
        self._goes_on = wordlike & ~starts  # (V,): further pieces of a word
        self._begins = starts & wordlike  # (V,)
        self._own = self._spoken = self._split_own = self._split = 0

    def update(self, seen: Seen) -> None:
        model, ids = self.scope.model, seen.batch.input_ids
        most_active = most_active_columns(self.scope.task.sequence(model, seen.batch))  # (B, L)
        split = F.pad(self._goes_on[ids[:, 1:]], (0, 1))  # (B, L): the word has a piece more
        speaks = (most_active >= 0) & self._begins[ids] & ~split
        self._own += int((speaks & (model.encoder.base[most_active] == ids)).sum())
        self._spoken += int(speaks.sum())
        self._count_split(seen, most_active.flatten())

    def _count_split(self, seen: Seen, most_active: Tensor) -> None:
        """Words that the tokenizer splits; `most_active` (B·L,)."""
        vocabulary = self.scope.model.vocabulary
        split, number = words_in_pieces(vocabulary, seen.batch.input_ids, seen.batch.attention_mask)
        fired: dict[int, set[str]] = {}
        for word, column in zip(number.tolist(), most_active.tolist(), strict=True):
            if word in split and column >= vocabulary.tokens:
                fired.setdefault(word, set()).add(vocabulary.names[column])
        asked = self.scope.task.row_of_position(seen.batch).flatten()
        spoken_for = set(number[asked >= 0].tolist())
        for word, pieces in split.items():
            name = vocabulary.name_of(pieces)
            if word in spoken_for and not is_stop(name):
                self._split += 1
                self._split_own += name in fired.get(word, ())

    def result(self) -> SelfActivationResult:
        has_columns = self.scope.model.vocabulary.holds_split_words
        return SelfActivationResult(
            self._own / self._spoken if self._spoken else 0.0,
            self._split_own / self._split if self._split and has_columns else None,
            self._split,
            len(self.scope.sample),
        )
