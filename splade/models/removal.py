"""What a model does not listen to, and where in a batch the words stand that it does not listen to.

Two things: a *token* that is shut fires nowhere (s_j = 0 for every input), whatever stands in the text; where a *word*
is silenced nothing fires at all, whatever the token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import Pieces, words_in_pieces


@dataclass(frozen=True)
class Removal:
    """Tokens that are shut, and words that are silenced."""

    tokens: frozenset[int] = frozenset()
    """Tokens of the tokenizer, by number; shut in all their senses and at all offsets."""
    split: frozenset[Pieces] = frozenset()
    """Words that the tokenizer splits, by their pieces, whose own columns are shut."""
    words: frozenset[str] = frozenset()
    """Words that are silenced, as `Vocabulary.normalise` writes them."""

    def __bool__(self) -> bool:
        return bool(self.tokens or self.split or self.words)

    def __or__(self, other: Removal) -> Removal:
        return Removal(self.tokens | other.tokens, self.split | other.split, self.words | other.words)

    def __sub__(self, other: Removal) -> Removal:
        return Removal(self.tokens - other.tokens, self.split - other.split, self.words - other.words)

    def __and__(self, other: Removal) -> Removal:
        return Removal(self.tokens & other.tokens, self.split & other.split, self.words & other.words)

    def to_json(self) -> dict[str, list[Any]]:
        """As plain values, in an order of their own."""
        return {
            "tokens": sorted(self.tokens),
            "split": sorted(list(pieces) for pieces in self.split),
            "words": sorted(self.words),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Removal:
        """What `to_json` wrote."""
        return cls(frozenset(values["tokens"]), frozenset(map(tuple, values["split"])), frozenset(values["words"]))


@dataclass(frozen=True)
class Match:
    """One thing that was asked for, and what in the model it stands for."""

    asked: str | int
    """A word, a token as the tokenizer writes it, or a column's number."""
    removal: Removal
    names: tuple[str, ...]
    """What is removed, as people read it."""


@dataclass(frozen=True)
class Matched:
    """What of a list of targets matched, and what did not."""

    found: tuple[Match, ...]
    unmatched: tuple[str | int, ...] = ()

    @property
    def removal(self) -> Removal:
        """All that matched."""
        total = Removal()
        for match in self.found:
            total |= match.removal
        return total

    def __add__(self, other: Matched) -> Matched:
        return Matched((*self.found, *other.found), (*self.unmatched, *other.unmatched))

    def sentences(self, restored: bool = False) -> list[str]:
        """What matched and what did not, for people to read; `restored`: it was put back, not removed."""
        said = []
        shut, silenced = ("opened again", "heard again") if restored else ("shut", "silenced")
        for match in self.found:
            columns = len(match.removal.tokens) + len(match.removal.split)
            named = ", ".join(match.names)
            if columns:
                said.append(f"'{match.asked}': {shut}, {columns} token(s): {named}.")
            if match.removal.words:
                said.append(f"'{match.asked}': {silenced} wherever it stands.")
        said += [f"'{asked}' matched nothing, and is left out." for asked in self.unmatched]
        return said


class Silence:
    """Some words, and where they stand in a batch: by what their pieces spell, so in all casings and spellings."""

    def __init__(self, vocabulary: Vocabulary, words: Iterable[str]):
        """`words`: as `Vocabulary.normalise` writes them."""
        self.vocabulary, self.words = vocabulary, frozenset(words)
        names = vocabulary.names[: vocabulary.tokens]
        self._alone = torch.tensor([name.lower() in self.words for name in names])  # (tokens,)
        self._split: dict[Pieces, bool] = {}  # what was found of split words: spelling one takes time

    def positions(self, input_ids: Tensor, attended: Tensor, words: Tensor | None = None) -> Tensor:
        """(B, L) bool: where one of the words stands. `words` (B, L): a number a word, −1 for none, where they are
        given; None: the words that the tokenizer marks."""
        split, number = words_in_pieces(self.vocabulary, input_ids, attended, words)
        ids = input_ids.flatten()
        found = self._alone.to(ids.device)[ids] & (number >= 0)  # (B·L,)
        if split:
            table = torch.zeros(len(ids), 2, dtype=torch.bool)  # of each number: is it split, is it one of the words
            table[list(split)] = torch.tensor([[True, self._holds(pieces)] for pieces in split.values()])
            is_split, is_held = table.to(ids.device)[number.clamp(min=0)].unbind(1)
            found = torch.where(is_split & (number >= 0), is_held, found)
        return found.view_as(input_ids)

    def _holds(self, pieces: Pieces) -> bool:
        if pieces not in self._split:
            self._split[pieces] = self.vocabulary.name_of(pieces).lower() in self.words
        return self._split[pieces]
