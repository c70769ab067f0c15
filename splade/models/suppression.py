"""Tokens that a model never listens to, and words it does not hear: for every input, saved with it, and reversible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

import splade  # which loads its functions when they are first used: they are built on models
from splade.models.open_words import OpenWords
from splade.models.removal import Matched, Removal
from splade.models.vocabulary import Vocabulary

if TYPE_CHECKING:
    from splade.models.encoder import LexicalEncoder


class Suppression:
    """Methods of a model that shut tokens and silence words."""

    encoder: LexicalEncoder
    vocabulary: Vocabulary
    open_words: OpenWords | None

    def suppress(self, words: Iterable[str]) -> Matched:
        """Shut the tokens of words for every input, in all their senses and spellings and at all offsets; saved with
        the model. The result says what matched."""
        return splade.suppress_words(self, words)

    def silence(self, words: Iterable[str]) -> Matched:
        """Let nothing speak wherever one of these words stands, whatever the token; saved with the model. The result
        says what matched."""
        return splade.silence_words(self, words)

    def restore(self, words: Iterable[str] | None = None) -> Matched:
        """Listen again to words that were suppressed or silenced; None: to all."""
        return splade.restore_words(self, words)

    def set_removal(self, removal: Removal) -> None:
        """Shut these tokens and silence these words, and no others; `splade.surgery` keeps the record of who did it."""
        opened, shut, device = self.removal - removal, removal - self.removal, self.encoder.bias.device
        self.encoder.restore(torch.tensor(sorted(opened.tokens), dtype=torch.long, device=device))
        self.encoder.suppress(torch.tensor(sorted(shut.tokens), dtype=torch.long, device=device))
        for pieces in (opened.split | shut.split) if self.open_words is not None else ():
            self.open_words.shut_word(pieces, pieces in shut.split)  # type: ignore[union-attr]
        self.encoder.removal = Removal(words=removal.words)

    @property
    def removal(self) -> Removal:
        """All that is removed."""
        shut = set(self.encoder.base[: len(self.encoder.suppressed)][self.encoder.suppressed].tolist())
        tokens = frozenset(token for token in shut if token < self.vocabulary.tokens)
        split = frozenset(self.open_words.shut) if self.open_words is not None else frozenset()
        return Removal(tokens, split) | self.encoder.removal

    @property
    def suppressed_words(self) -> list[str]:
        """Names of the tokens that are shut for every input, each once whatever its senses and spellings."""
        shut = self.encoder.base[: len(self.encoder.suppressed)][self.encoder.suppressed].tolist()
        split = sorted(self.open_words.shut) if self.open_words is not None else []
        names = [*(self.vocabulary.names[token] for token in shut), *map(self.vocabulary.name_of, split)]
        return list(dict.fromkeys(names))

    @property
    def silenced_words(self) -> list[str]:
        """The words that are silenced for every input."""
        return sorted(self.encoder.removal.words)
