"""Supports: which vocabulary tokens may fire at which input positions. One class a kind, behind `SUPPORTS`.

A support only proposes (position, token) pairs whose score might pass the gate; gate, head and attribution are the same
for all. A model may have several: their proposals are joined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.errors import ConfigError
from splade.models.backbone import Backbone
from splade.models.projection import PAIR_CHUNK, scan_columns
from splade.models.vocabulary import BLANK, Vocabulary, is_stop
from splade.models.word_reader import WordReader
from splade.registry import Registry

SUPPORTS: Registry[type[Support]] = Registry("support")

# Tokens whose neighbours are looked for at a time: their cosines to a vocabulary of 30,522 are 8 MB.
TOKENS_AT_A_TIME = 64


@dataclass(frozen=True)
class Scene:
    """What a support may look at: one batch and the decoder it is scored with."""

    hidden: Tensor
    """(B, L, d) in the scan's precision."""
    input_ids: Tensor
    """(B, L)."""
    attended: Tensor
    """(B, L) bool: positions that are not padding."""
    decoder: Tensor
    """(V, d) in the scan's precision."""
    floor: Tensor
    """(V,) the dot product h·E[v] a pair must exceed to matter."""
    everywhere: bool = False
    """Whether all positions of a token are wanted, not just its best in each text."""
    asked: Tensor | None = None
    """(B, L) bool: the only positions that may speak; None: all."""


class Support(nn.Module, ABC):
    """Base of all supports."""

    excluded: Tensor

    def __init__(self, vocabulary: Vocabulary, exclude_stop_words: bool):
        super().__init__()
        self.vocabulary = vocabulary
        excluded = vocabulary.stop | vocabulary.special if exclude_stop_words else torch.zeros_like(vocabulary.stop)
        self.register_buffer("excluded", excluded, persistent=False)  # (V,): never fired; read only where asked

    @abstractmethod
    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs (position (N,) flat index b·L + l, token (N,)) that may pass the gate, and their h·E (N,)."""

    @abstractmethod
    def allows(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        """(B, L, V) bool, the definition that `propose` must agree with; for tests and `to_dense()`."""

    def live(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        """(B, L) positions that may speak: those `asked`, else all without an excluded token.

        Asked for by name, a stop word may say what it is ("of" in "Bank of England" is part of an entity): by other
        words, since its own token never fires.
        """
        return attended & (~self.excluded[input_ids] if asked is None else asked)


class _Columns(Support):
    """A fixed set of tokens that may fire at every live position."""

    tokens: Tensor  # (U,)

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        live = self.live(scene.input_ids, scene.attended, scene.asked)
        whole = len(self.tokens) == len(scene.decoder)
        table = scene.decoder if whole else scene.decoder.index_select(0, self.tokens)
        floor = scene.floor if whole else scene.floor.index_select(0, self.tokens)
        position, column, score = scan_columns(scene.hidden, live, table, floor, scene.everywhere)
        return position, self.tokens[column], score

    def allows(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        columns = torch.zeros_like(self.excluded).index_fill_(0, self.tokens, True)
        return self.live(input_ids, attended, asked)[..., None] & columns


@SUPPORTS.register("full")
class FullSupport(_Columns):
    """The whole vocabulary at every position, as in the user's documents."""

    def __init__(self, vocabulary: Vocabulary, exclude_stop_words: bool, **_: object):
        super().__init__(vocabulary, exclude_stop_words)
        self.register_buffer("tokens", (~self.excluded).nonzero(as_tuple=True)[0], persistent=False)


@SUPPORTS.register("dictionary")
class DictionarySupport(_Columns):
    """A fixed list of whole words at every position: words shared by all texts."""

    def __init__(
        self, vocabulary: Vocabulary, exclude_stop_words: bool, *, dictionary: Sequence[int] = (), **_: object
    ):
        super().__init__(vocabulary, exclude_stop_words)
        self.register_buffer("tokens", torch.tensor(sorted(set(dictionary)), dtype=torch.long))

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:  # type: ignore[no-untyped-def]
        self.tokens = torch.empty_like(state_dict[prefix + "tokens"])  # as many words as the saved model has
        super()._load_from_state_dict(state_dict, prefix, *args)


@SUPPORTS.register("neighbourhood")
class NeighbourhoodSupport(Support):
    """A word and its k nearest whole words in the frozen input embeddings; nothing else can fire there.

    A word the tokenizer splits never surfaces as fragments: all its pieces propose the same k whole words, those that
    the untrained backbone reads in the word standing alone (*snooze* → nap, sleepy); the mean of its pieces' embeddings
    says little about it.
    """

    neighbours: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        exclude_stop_words: bool,
        *,
        backbone: Backbone,
        neighbours: int = 8,
        blank: bool = False,
        **_: object,
    ):
        super().__init__(vocabulary, exclude_stop_words)
        clean = vocabulary.whole_word & ~self.excluded
        words = clean.nonzero(as_tuple=True)[0]
        if len(words) < neighbours:
            raise ConfigError(
                f"model.neighbours is {neighbours}, but the vocabulary has only {len(words)} whole words; choose fewer."
            )
        self.reader = WordReader(backbone, vocabulary, words, neighbours)  # for words of several pieces
        size = len(vocabulary.pieces)
        table = (
            torch.full((size, neighbours), -1, dtype=torch.int)  # no token: to use it before it is filled in fails
            if blank
            else _nearest_words(backbone.frozen_embeddings(), clean, neighbours)
        )
        self.register_buffer("neighbours", table)  # (V, k): for words of one piece

    @property
    def k(self) -> int:
        return self.neighbours.shape[1]

    def _split_words_of(
        self, input_ids: Tensor, attended: Tensor | None = None
    ) -> tuple[dict[int, tuple[int, ...]], Tensor]:
        """The words of several pieces in a batch, by number, and the word number (B·L,) of every position (or −1)."""
        attended = torch.ones_like(input_ids) if attended is None else attended
        groups = self.vocabulary.word_groups(input_ids, attended).flatten()  # (B·L,): −1 where there is no word
        ids, length = input_ids.flatten(), input_ids.shape[1]
        text = torch.arange(len(ids), device=ids.device) // max(length, 1)
        word = torch.where(groups >= 0, text * length + groups, -1)
        size = torch.bincount(word[word >= 0], minlength=len(ids))  # pieces of each word
        places = ((word >= 0) & (size[word] > 1)).nonzero(as_tuple=True)[0]
        pieces: dict[int, list[int]] = {}
        for number, piece in zip(word[places].tolist(), ids[places].tolist(), strict=True):
            pieces.setdefault(number, []).append(piece)
        return {number: tuple(p) for number, p in pieces.items()}, word

    def _is_silent(self, pieces: tuple[int, ...]) -> bool:
        """Whether a split word is a stop word, a number or a mark ("1987" in pieces), when such are excluded."""
        return bool(self.excluded.any()) and is_stop("".join(self.vocabulary.names[p] for p in pieces).strip(BLANK))

    def candidates(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices and the tokens (P, k) that may fire there."""
        split, word = self._split_words_of(input_ids, attended)
        ids = input_ids.flatten()
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        live = (word >= 0) & self.live(input_ids, attended, asked).flatten()
        for number in [number for number, p in split.items() if asked is None and self._is_silent(p)]:
            live &= word != number
            del split[number]
        if split:
            row_of = torch.full((len(ids),), -1, dtype=torch.long)
            row_of[list(split)] = torch.arange(len(split))
            row = torch.where(word >= 0, row_of.to(ids.device)[word], -1)  # (B·L,): which split word, or −1
            found = self.reader.read(list(split.values()))  # (S, k)
            tokens = torch.where((row >= 0)[:, None], found[row], tokens)
            live |= row >= 0
        if asked is not None:
            live &= asked.flatten()
        position = live.nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended, scene.asked)  # (P,), (P, k)
        hidden = scene.hidden.reshape(-1, scene.hidden.shape[-1])  # (B·L, d)
        score = hidden.new_empty(tokens.shape)  # (P, k)
        step = max(1, PAIR_CHUNK // tokens.shape[1])
        for start in range(0, len(position), step):
            part = slice(start, start + step)
            near = F.embedding(tokens[part], scene.decoder)  # (n, k, d)
            score[part] = torch.bmm(near, hidden[position[part], :, None]).squeeze(-1)
        place, slot = (score > scene.floor[tokens]).nonzero(as_tuple=True)
        return position[place], tokens[place, slot], score[place, slot]

    def allows(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended, asked)
        allowed[position[:, None], tokens] = True
        return allowed.view(*input_ids.shape, -1)


def _nearest_words(embeddings: Tensor, words: Tensor, k: int) -> Tensor:
    """(V, k) tokens among `words` (V,) bool nearest to each by cosine of embeddings (V, d); each word has itself."""
    embeddings = F.normalize(embeddings, dim=1)
    table, own = torch.empty(len(embeddings), k, dtype=torch.int), torch.arange(len(embeddings))
    for rows in own.split(TOKENS_AT_A_TIME):
        cosine = embeddings[rows] @ embeddings.T  # (n, V)
        table[rows] = cosine.masked_fill_(~words, -torch.inf).topk(k, dim=1).indices.int()
    lacks_own = words & ~(table == own[:, None]).any(1)
    table[:, -1] = torch.where(lacks_own, own, table[:, -1])
    return table
