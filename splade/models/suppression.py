"""Words that a model never listens to: shut for every input, and saved with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from transformers import PreTrainedTokenizerFast

from splade.errors import ModelError
from splade.models.open_words import OpenWords
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import words_in_pieces

if TYPE_CHECKING:
    from splade.models.encoder import LexicalEncoder


class Suppression:
    """Methods of a model that shut words."""

    encoder: LexicalEncoder
    vocabulary: Vocabulary
    tokenizer: PreTrainedTokenizerFast
    open_words: OpenWords | None

    def suppress(self, words: Sequence[str]) -> None:
        """Shut words for every input, in all their senses and spellings and at all offsets; saved with the model."""
        listed = [words] if isinstance(words, str) else list(words) if isinstance(words, Iterable) else [words]
        if not all(isinstance(word, str) for word in listed):
            raise ModelError(f"Words to suppress were expected, a list of strings, but {words!r:.60} was given.")
        split = {word: self._as_split(word) for word in listed} if self.open_words is not None else {}
        whole = [word for word in listed if not split.get(word) or self.vocabulary.match(word)]
        chosen = self.vocabulary.tokens_of(whole, "The list to suppress")
        self.encoder.suppress(torch.tensor(chosen, dtype=torch.long, device=self.encoder.bias.device))
        for pieces in {pieces for spellings in split.values() for pieces in spellings}:
            self.open_words.shut_word(pieces)  # type: ignore[union-attr]

    def _as_split(self, word: str) -> set[tuple[int, ...]]:
        """The pieces that the tokenizer makes of a word, at the beginning of a text and after a space, in any case;
        spellings that are one token are left out."""
        spellings = {word.strip(), word.strip().lower(), word.strip().upper(), word.strip().capitalize()}
        found = set()
        for text in {*spellings, *(f" {spelling}" for spelling in spellings)}:
            ids = torch.tensor([self.tokenizer(text, add_special_tokens=False)["input_ids"]], dtype=torch.long)
            if ids.numel():
                # Where words are given, marks do not part them: *German-owned* is one.
                one = self.encoder.context is not None and len(text.split()) == 1
                words = torch.zeros_like(ids) if one else None
                split, number = words_in_pieces(self.vocabulary, ids, torch.ones_like(ids), words)
                found |= set(split.values()) if len(number.unique()) == 1 else set()  # one word, not several
        return found

    @property
    def suppressed_words(self) -> list[str]:
        """Names of the tokens that are shut for every input, each once whatever its senses and spellings."""
        shut = self.encoder.base[: len(self.encoder.suppressed)][self.encoder.suppressed].tolist()
        split = sorted(self.open_words.shut) if self.open_words is not None else []
        names = [*(self.vocabulary.names[token] for token in shut), *map(self.vocabulary.name_of, split)]
        return list(dict.fromkeys(names))
