"""What each entry of a tokenizer's vocabulary is: a word, a piece of one, punctuation or machinery.

Tokenizers mark words in three ways: WordPiece marks what continues a word (``##ing``), byte-level BPE and SentencePiece
mark what begins one (``Ġgood``, ``▁good``). After this module nobody needs to know which.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from splade.data.stop_words import CONTRASTS, NEGATIONS, STOP_WORDS
from splade.errors import BackboneError, ConfigError
from splade.utils.arrows import arrow

Marker = Literal["##", "Ġ", "▁"]


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


# Two letters are mostly abbreviations and debris ("th", "ng"); these few are words people know.
SHORT_WORDS = _words("ai dr eu go mr ms no ok pc tv uk")
SHORTEST_WORD = 3

# What is shown for a token of white space alone.
BLANK = "␣"

APOSTROPHES = "'’"
_UNUSED = re.compile(r"[\[<]unused_?\d+[\]>]|<0x[0-9A-F]{2}>", re.IGNORECASE)  # reserved slots, lone bytes
_INNER_MARKS = re.compile(rf"(?<=\w)[{APOSTROPHES}-](?=\w)")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Lists and boolean masks of length V, one entry per row of the embedding matrix."""

    pieces: list[str]
    """Tokens as the tokenizer writes them, markers included."""
    names: list[str]
    """Tokens as people read them: ``Ġgood`` and ``##ing`` are ``good`` and ``ing``."""
    tokenizer: PreTrainedTokenizerFast
    """Where they come from."""
    marker: Marker
    """How it marks the pieces of words."""
    special: Tensor
    """Machinery: special and unknown tokens, unused slots, placeholders, padding of the embedding matrix."""
    starts_word: Tensor
    """Written by the tokenizer only where a word begins."""
    wordlike: Tensor
    """Holds a letter or a digit, so it is part of a word and not punctuation."""
    whole_word: Tensor
    """A complete word of letters, fit to be shown as a reason."""
    stop: Tensor
    """Says nothing by itself: stop words (in any position, pieces included), single characters, numbers, punctuation.
    Negations are not stop words."""
    tokens: int
    """How many are the tokenizer's; after them come words that it splits, and then further senses."""
    free: int = 0
    """Entries that no word has yet."""
    sense_of: dict[int, int] = field(default_factory=dict)
    """Entries that are further senses of a token (``bank#2``), and that token."""
    offsets: tuple[int, ...] = (0,)
    """Where the words stand that the entries are spoken by, in words from the one that is decided on: all entries are
    there once for each offset, one block after another."""

    @classmethod
    def from_tokenizer(cls, tokenizer: PreTrainedTokenizerFast, vocab_size: int) -> Vocabulary:
        """Classify every token; rows of the embedding matrix beyond the tokenizer are special, ``[padding k]``."""
        by_id = {index: piece for piece, index in tokenizer.get_vocab().items()}
        if max(by_id) >= vocab_size:
            raise BackboneError(
                f"The tokenizer has token number {max(by_id)} but the model only {vocab_size} embeddings; use the "
                "tokenizer that was saved with the model."
            )
        unnamed = [index for index in range(vocab_size) if index not in by_id]
        by_id.update({index: f"[padding {k}]" for k, index in enumerate(unnamed)})
        pieces = [by_id[index] for index in range(vocab_size)]

        added = {index: token for index, token in tokenizer.added_tokens_decoder.items() if index < vocab_size}
        marker = _find_marker(pieces)
        names = [_name(piece, marker, tokenizer) if i not in added else piece for i, piece in enumerate(pieces)]
        machinery = {*unnamed, *tokenizer.all_special_ids}
        machinery |= {i for i, token in added.items() if token.special or not _is_word(names[i])}
        special = [i in machinery or bool(_UNUSED.fullmatch(piece)) for i, piece in enumerate(pieces)]
        starts = [
            not special[i] and (i in added or piece.startswith(marker) != (marker == "##"))
            for i, piece in enumerate(pieces)
        ]
        wordlike = [not special[i] and any(map(str.isalnum, name)) for i, name in enumerate(names)]
        whole = [
            starts[i] and _is_word(name) and (len(name) >= SHORTEST_WORD or name.lower() in SHORT_WORDS)
            for i, name in enumerate(names)
        ]
        stop = [not special[i] and is_stop(name, starts[i]) for i, name in enumerate(names)]
        masks = {"special": special, "starts_word": starts, "wordlike": wordlike, "whole_word": whole, "stop": stop}
        tensors: Any = {name: torch.from_numpy(np.array(mask)) for name, mask in masks.items()}  # torch.tensor is slow
        return cls(pieces, names, tokenizer, marker, **tensors, tokens=len(pieces))

    def __len__(self) -> int:
        return len(self.pieces)

    def with_senses(self, tokens: list[int], senses: int) -> Vocabulary:
        """With senses 2 … M of some tokens after all others, token by token; named ``bank#2``, else like the token."""
        base = [token for token in tokens for _ in range(senses - 1)]
        ends = [f"#{number}" for _ in tokens for number in range(2, senses + 1)]
        names = ("special", "starts_word", "wordlike", "whole_word", "stop")
        masks: Any = {name: torch.cat([getattr(self, name), getattr(self, name)[base]]) for name in names}
        return replace(
            self,
            pieces=[*self.pieces, *(self.pieces[token] + end for token, end in zip(base, ends, strict=True))],
            names=[*self.names, *(self.names[token] + end for token, end in zip(base, ends, strict=True))],
            sense_of={len(self) + number: token for number, token in enumerate(base)},
            **masks,
        )

    def with_words(self, count: int, free: int) -> Vocabulary:
        """With room for words that the tokenizer splits, `free` of them yet to be met; whoever gives an entry to a word
        names it."""
        grown: Any = {name: F.pad(getattr(self, name), (0, count)) for name in ("special", "whole_word", "stop")}
        grown |= {name: F.pad(getattr(self, name), (0, count), value=True) for name in ("starts_word", "wordlike")}
        blank = [""] * count
        return replace(self, pieces=[*self.pieces, *blank], names=[*self.names, *blank], free=free, **grown)

    def at_offsets(self, offsets: tuple[int, ...]) -> Vocabulary:
        """With all entries once for each of `offsets`, some of which may be the same; they have one name at all."""
        names = ("special", "starts_word", "wordlike", "whole_word", "stop")
        masks: Any = {name: getattr(self, name).repeat(len(offsets)) for name in names}
        lists: Any = {name: getattr(self, name) * len(offsets) for name in ("pieces", "names")}
        return replace(self, **lists, **masks, free=self.free * len(offsets), offsets=offsets)

    def rename(self, entry: int, name: str) -> None:
        """Name an entry, at all offsets."""
        for place in range(entry, len(self), len(self) // len(self.offsets)):
            self.names[place] = name

    def offset_of(self, entry: int) -> int:
        """Where the word stands that this entry is spoken by."""
        return self.offsets[entry // (len(self) // len(self.offsets))]

    def name_in_place(self, entry: int) -> str:
        """An entry's name, with arrows to where the word stands if that is another: ``← mr`` for the one before."""
        return arrow(self.offset_of(entry)) + self.names[entry]

    def name_of(self, pieces: Sequence[int]) -> str:
        """A word by the tokens that write it, as people read it."""
        text = self.tokenizer.convert_tokens_to_string([self.pieces[piece] for piece in pieces])
        return "".join(text.split()) or BLANK  # WordPiece puts spaces around marks: "u . s ."

    @property
    def holds_split_words(self) -> bool:
        """Whether words that the tokenizer splits have entries of their own."""
        return len(self) > self.tokens + len(self.sense_of)

    @property
    def content(self) -> Tensor:
        """(W,) the whole words that mean something by themselves, ascending."""
        return (self.whole_word & ~self.stop & ~self.special).nonzero(as_tuple=True)[0]

    @cached_property
    def speaker(self) -> Tensor:
        """(V,) the token that speaks for a word of one token: itself, or, where it is written as what continues a word,
        the one of the same name that begins one (byte-level tokenizers write a text's first word so); −1: there is
        none, and the word is like one that the tokenizer splits."""
        begins = self.starts_word & ~self.special
        by_name = {self.names[token]: token for token in begins[: self.tokens].nonzero()[:, 0].tolist()[::-1]}
        speaker = torch.where(begins | ~self.wordlike, torch.arange(len(self)), -1)
        for token in (speaker < 0).nonzero()[:, 0].tolist():
            speaker[token] = by_name.get(self.names[token], -1)
        return speaker

    @cached_property
    def base(self) -> Tensor:
        """(V,) the token of each entry: itself, or the one it is a sense of, or that it is at another offset."""
        size = len(self) // len(self.offsets)
        return torch.tensor([self.sense_of.get(index, index) for index in range(size)]).repeat(len(self.offsets))

    @cached_property
    def at_any_offset(self) -> Tensor:
        """(V,) each entry as it is at the first offset: a number for a token, or a sense of it, wherever it stands."""
        return torch.arange(len(self)) % (len(self) // len(self.offsets))

    def word_groups(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The number of the word at each position (B, L), counted from 0 in each text; -1 at special and padding.

        A position continues the word before it if its piece does not start a word and both are wordlike: ``un ##watch
        ##able`` is one word, ``movie .`` two, and the first word of a text needs no marker. Whatever follows a bare
        marker (``▁ u n``) belongs to it.
        """
        device = input_ids.device
        outside = self.special.to(device)[input_ids] | (attention_mask == 0)  # (B, L)
        wordlike = self.wordlike.to(device)[input_ids] & ~outside
        bare = input_ids == self._bare_marker
        joins = torch.zeros_like(outside)
        joins[:, 1:] = (wordlike[:, 1:] & wordlike[:, :-1]) | bare[:, :-1]
        continues = joins & ~self.starts_word.to(device)[input_ids]
        number = (~outside & ~continues).cumsum(dim=1) - 1
        return number.masked_fill(outside, -1)  # (B, L)

    def match(self, word: str) -> list[int]:
        """All tokens that write ``word`` as a whole, whatever their case, and all their senses; none if the tokenizer
        splits it.

        Byte-level tokenizers write the first word of a text without a marker, so there both forms count.
        """
        return list(self._by_name.get(self.normalise(word), []))

    def tokens_of(self, words: Sequence[str], setting: str) -> list[int]:
        """The tokens of listed words, ascending; a word the tokenizer splits is an error of the ``setting``."""
        tokens = {word: self.match(word) for word in words}
        unknown = [word for word, ids in tokens.items() if not ids]
        if unknown:
            raise ConfigError(
                f"{setting} has {len(unknown)} word(s) the tokenizer does not hold whole, '{unknown[0]}' first; remove "
                "them or choose words that are single tokens."
            )
        return sorted({token for ids in tokens.values() for token in ids})

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """Whole words, by their name in lower case."""
        by_name: dict[str, list[int]] = {}
        whole = (~self.special & (self.starts_word | (self.marker == "Ġ"))).tolist()
        for index, base in enumerate(self.base.tolist()):
            if whole[index] and base < self.tokens:  # names of split words come and go
                by_name.setdefault(self.names[base].lower(), []).append(index)
        return by_name

    @cached_property
    def _bare_marker(self) -> int:
        """The token that is nothing but the sign of a word's beginning; -1 if there is none."""
        return self.pieces.index(self.marker) if self.marker != "##" and self.marker in self.pieces else -1

    def normalise(self, word: str) -> str:
        """A word as the tokenizer reads it, in lower case: so all its spellings are one."""
        normaliser = self.tokenizer.backend_tokenizer.normalizer
        text = word.strip()
        if normaliser is not None:  # for example accents, which an uncased BERT drops
            text = normaliser.normalize_str(text).lstrip("▁").strip()
        return text.lower()


def _find_marker(pieces: list[str]) -> Marker:
    """The marker most pieces carry; without any, every piece is a word, as in a WordPiece vocabulary of whole words."""
    markers: tuple[Marker, ...] = ("##", "Ġ", "▁")
    return max(markers, key=lambda marker: sum(piece.startswith(marker) for piece in pieces))


def _name(piece: str, marker: Marker, tokenizer: PreTrainedTokenizerFast) -> str:
    if marker == "Ġ":  # the bytes of a character are written as stand-ins: "cafÃ©" is "café"
        name = tokenizer.convert_tokens_to_string([piece]).strip()
    else:
        name = piece.removeprefix(marker)
    return name or BLANK


def _is_word(name: str) -> bool:
    """Letters of any script, with their accents; hyphens and apostrophes only inside."""
    if name.isalpha():  # nearly all are, and telling the others takes ten times as long
        return True
    letters = _INNER_MARKS.sub("", name)
    return letters[:1].isalpha() and all(c.isalpha() or unicodedata.category(c).startswith("M") for c in letters)


def is_stop(name: str, starts_word: bool = True) -> bool:
    """Whether a word, or a piece of one, says nothing by itself."""
    word = name.lower().replace("’", "'")
    # A lone "t" is a negation only as a token of its own (don ' t); "##t" is the end of any word.
    if word in CONTRASTS or (word in NEGATIONS and (len(word) > 1 or starts_word)):
        return False
    word = word.strip("'")
    return len(word) <= 1 or word in STOP_WORDS or not any(map(str.isalpha, word))
