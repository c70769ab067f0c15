"""Supports: which vocabulary tokens may fire at which input positions. One class a kind, behind `SUPPORTS`.

A support only proposes (position, token) pairs whose score might pass the gate; gate, head and attribution are the same
for all. A model may have several: their proposals are joined.
"""

from __future__ import annotations

import copy
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
from splade.registry import Registry

SUPPORTS: Registry[type[Support]] = Registry("support")

# Words the reader reads at a time.
WORDS_AT_A_TIME = 256

# Split words remembered before all are forgotten: some 50 MB, and a long-running service meets new ones for ever.
REMEMBERED_WORDS = 100_000


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


class Support(nn.Module, ABC):
    """Base of all supports."""

    excluded: Tensor

    def __init__(self, vocabulary: Vocabulary, exclude_stop_words: bool):
        super().__init__()
        self.vocabulary = vocabulary
        excluded = vocabulary.stop | vocabulary.special if exclude_stop_words else torch.zeros_like(vocabulary.stop)
        self.register_buffer("excluded", excluded, persistent=False)  # (V,): neither read nor fired

    @abstractmethod
    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs (position (N,) flat index b·L + l, token (N,)) that may pass the gate, and their h·E (N,)."""

    @abstractmethod
    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        """(B, L, V) bool, the definition that `propose` must agree with; for tests and `to_dense()`."""

    def live(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        """(B, L) positions that may speak."""
        return attended & ~self.excluded[input_ids]


class _Columns(Support):
    """A fixed set of tokens that may fire at every live position."""

    tokens: Tensor  # (U,)

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        live = self.live(scene.input_ids, scene.attended)
        whole = len(self.tokens) == len(scene.decoder)
        table = scene.decoder if whole else scene.decoder.index_select(0, self.tokens)
        floor = scene.floor if whole else scene.floor.index_select(0, self.tokens)
        position, column, score = scan_columns(scene.hidden, live, table, floor)
        return position, self.tokens[column], score

    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        columns = torch.zeros_like(self.excluded).index_fill_(0, self.tokens, True)
        return self.live(input_ids, attended)[..., None] & columns


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
    the untrained backbone reads in the word standing alone (*snooze* → nap, sleepy). A frozen copy of the backbone, the
    `reader`, stays with the model for this, since about half of all sentences hold a split word that training never
    met, and the mean of its pieces' embeddings says little about it.
    """

    neighbours: Tensor
    reader_weight: Tensor
    reader_bias: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        exclude_stop_words: bool,
        *,
        backbone: Backbone,
        neighbours: int = 16,
        blank: bool = False,
        **_: object,
    ):
        super().__init__(vocabulary, exclude_stop_words)
        # Half precision is enough to rank neighbours and is what is saved; rounding now keeps training and use alike.
        self.reader = copy.deepcopy(backbone).half().float().requires_grad_(False).eval()
        clean = vocabulary.whole_word & ~self.excluded
        words = clean.nonzero(as_tuple=True)[0]
        if len(words) < neighbours:
            raise ConfigError(
                f"model.neighbours is {neighbours}, but the vocabulary has only {len(words)} whole words; choose fewer."
            )
        self.register_buffer("words", words, persistent=False)  # (W,)
        weight, bias = backbone.decoder()
        self.register_buffer("reader_weight", weight[words].half())  # (W, d): the untrained decoder of whole words
        self.register_buffer("reader_bias", bias[words].half())  # (W,)
        size = len(vocabulary.pieces)
        table = torch.empty(size, neighbours, dtype=torch.long) if blank else self._table(clean, neighbours)
        self.register_buffer("neighbours", table.int())  # (V, k): the words of one piece
        self._split_words: dict[tuple[int, ...], Tensor] = {}  # the words of several pieces met so far

    def _table(self, clean: Tensor, k: int) -> Tensor:
        """(V, k) the whole words nearest to each token by cosine of input embeddings; a whole word is its own first."""
        embeddings = F.normalize(self.reader.frozen_embeddings(), dim=1)  # (V, d)
        words = self.get_buffer("words")
        near = [
            words[(embeddings[i : i + 2048] @ embeddings[words].T).topk(k, dim=1).indices]
            for i in range(0, len(embeddings), 2048)
        ]
        table, own = torch.cat(near), torch.arange(len(embeddings))
        lacks_own = clean & ~(table == own[:, None]).any(1)
        table[:, -1] = torch.where(lacks_own, own, table[:, -1])
        return table

    def train(self, mode: bool = True) -> NeighbourhoodSupport:
        super().train(mode)
        self.reader.eval()  # it never trains: its reading of a word must not change
        return self

    @property
    def k(self) -> int:
        return self.neighbours.shape[1]

    @torch.no_grad()
    def read_words(self, words: list[tuple[int, ...]]) -> Tensor:
        """(n, k) neighbours of words of several pieces, remembered between calls.

        A word stands alone between the special tokens; its score for a whole word v is h̄·E[v] + b[v], with h̄ the mean
        of its pieces' hidden states and E, b the untrained decoder.
        """
        if len(self._split_words) > REMEMBERED_WORDS:
            self.forget_words()
        unknown = sorted({word for word in words if word not in self._split_words}, key=lambda w: (len(w), w))
        if unknown:
            whole = self.get_buffer("words")
            weight, bias = self.reader_weight.float(), self.reader_bias.float()  # (W, d), (W,)
            for start in range(0, len(unknown), WORDS_AT_A_TIME):
                chunk = unknown[start : start + WORDS_AT_A_TIME]
                near = whole[(self._mean_hidden(chunk) @ weight.T + bias).topk(self.k, dim=1).indices]  # (n, k)
                self._split_words.update(zip(chunk, near, strict=True))
        device = self.neighbours.device
        return torch.stack([self._split_words[word].to(device) for word in words])

    def forget_words(self) -> None:
        """Drop what `read_words` remembers."""
        self._split_words.clear()

    def _mean_hidden(self, words: list[tuple[int, ...]]) -> Tensor:
        """(n, d) mean hidden state of each word's pieces."""
        tokenizer, device = self.vocabulary.tokenizer, self.neighbours.device
        before = [] if tokenizer.cls_token_id is None else [tokenizer.cls_token_id]
        after = [] if tokenizer.sep_token_id is None else [tokenizer.sep_token_id]
        room = self.reader.max_length - len(before) - len(after)
        words = [word[:room] for word in words]
        length = len(before) + max(map(len, words)) + len(after)
        ids = torch.full((len(words), length), tokenizer.pad_token_id or 0)
        mask, inside = torch.zeros_like(ids), torch.zeros(len(words), length)
        for row, word in enumerate(words):
            whole = torch.tensor([*before, *word, *after])
            ids[row, : len(whole)], mask[row, : len(whole)] = whole, 1
            inside[row, len(before) : len(before) + len(word)] = 1 / len(word)
        hidden = self.reader(ids.to(device), mask.to(device)).float()  # (n, L, d)
        return (hidden * inside.to(device)[..., None]).sum(1)

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

    def candidates(self, input_ids: Tensor, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices and the tokens (P, k) that may fire there."""
        split, word = self._split_words_of(input_ids, attended)
        ids = input_ids.flatten()
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        live = (word >= 0) & ~self.excluded[ids]
        for number in [number for number, pieces in split.items() if self._is_silent(pieces)]:
            live &= word != number
            del split[number]
        if split:
            row_of = torch.full((len(ids),), -1, dtype=torch.long)
            row_of[list(split)] = torch.arange(len(split))
            row = torch.where(word >= 0, row_of.to(ids.device)[word], -1)  # (B·L,): which split word, or −1
            found = self.read_words(list(split.values()))  # (S, k)
            tokens = torch.where((row >= 0)[:, None], found[row], tokens)
            live |= row >= 0
        position = live.nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended)  # (P,), (P, k)
        hidden = scene.hidden.reshape(-1, scene.hidden.shape[-1])  # (B·L, d)
        score = hidden.new_empty(tokens.shape)  # (P, k)
        step = max(1, PAIR_CHUNK // tokens.shape[1])
        for start in range(0, len(position), step):
            part = slice(start, start + step)
            near = F.embedding(tokens[part], scene.decoder)  # (n, k, d)
            score[part] = torch.bmm(near, hidden[position[part], :, None]).squeeze(-1)
        place, slot = (score > scene.floor[tokens]).nonzero(as_tuple=True)
        return position[place], tokens[place, slot], score[place, slot]

    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended)
        allowed[position[:, None], tokens] = True
        return allowed.view(*input_ids.shape, -1)
