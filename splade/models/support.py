"""Supports: which vocabulary tokens may fire at which input positions. One class a kind, behind `SUPPORTS`.

A support only proposes (position, token) pairs whose score might pass the gate; gate, head and attribution are the same
for all. A model may have several: their proposals are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.models.projection import scan_columns
from splade.models.vocabulary import Vocabulary
from splade.registry import Registry

SUPPORTS: Registry[type[Support]] = Registry("support")


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


class Support(nn.Module):
    """Base of all supports."""

    excluded: Tensor

    def __init__(self, vocabulary: Vocabulary, exclude_stop_words: bool):
        super().__init__()
        self.vocabulary = vocabulary
        excluded = vocabulary.stop | vocabulary.special if exclude_stop_words else torch.zeros_like(vocabulary.stop)
        self.register_buffer("excluded", excluded, persistent=False)  # (V,): neither read nor fired

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor]:
        """Pairs (position (N,) flat index b·L + l, token (N,)) that may pass the gate."""
        raise NotImplementedError

    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        """(B, L, V) bool, the definition that `propose` must agree with; for tests and `to_dense()`."""
        raise NotImplementedError

    def live(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        """(B, L) positions that may speak."""
        return attended & ~self.excluded[input_ids]


class _Columns(Support):
    """A fixed set of tokens that may fire at every live position."""

    tokens: Tensor  # (U,)

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor]:
        live = self.live(scene.input_ids, scene.attended)
        whole = len(self.tokens) == len(scene.decoder)
        table = scene.decoder if whole else scene.decoder.index_select(0, self.tokens)
        floor = scene.floor if whole else scene.floor.index_select(0, self.tokens)
        position, column = scan_columns(scene.hidden, live, table, floor)
        return position, self.tokens[column]

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


@SUPPORTS.register("neighbourhood")
class NeighbourhoodSupport(Support):
    """A word and its k nearest whole words in the frozen input embeddings; nothing else can fire there.

    A word the tokenizer splits is looked up by the mean of its pieces' embeddings, and all its pieces propose the
    words near that, so that it never surfaces as fragments.
    """

    neighbours: Tensor
    embeddings: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        exclude_stop_words: bool,
        *,
        embeddings: Tensor | None = None,
        neighbours: int = 16,
        embedding_size: int = 0,
        **_: object,
    ):
        super().__init__(vocabulary, exclude_stop_words)
        size = len(vocabulary.pieces)
        clean = vocabulary.whole_word & ~self.excluded
        self.register_buffer("words", clean.nonzero(as_tuple=True)[0], persistent=False)  # (W,)
        if embeddings is None:  # filled by the state dict of a saved model
            embeddings, table = torch.empty(size, embedding_size), torch.empty(size, neighbours, dtype=torch.long)
        else:
            embeddings = F.normalize(embeddings.float(), dim=1)
            table = torch.cat(
                [self._nearest(embeddings[i : i + 2048], embeddings, neighbours) for i in range(0, size, 2048)]
            )
            own = torch.arange(size)
            lacks_own = clean & ~(table == own[:, None]).any(1)
            table[:, -1] = torch.where(lacks_own, own, table[:, -1])
        self.register_buffer("embeddings", embeddings.half())  # (V, d): half is enough to rank neighbours
        self.register_buffer("neighbours", table.int())  # (V, k): the table for words of one piece
        self._split_words: dict[tuple[int, ...], Tensor] = {}

    def _nearest(self, queries: Tensor, embeddings: Tensor, k: int) -> Tensor:
        """(n, d) -> (n, k) the nearest whole words by cosine."""
        words = self.get_buffer("words")
        similarity = F.normalize(queries.float(), dim=1) @ embeddings[words].float().T  # (n, W)
        return words[similarity.topk(k, dim=1).indices]

    def _of_split_words(self, words: list[tuple[int, ...]]) -> Tensor:
        """(n, k) neighbours of words of several pieces, remembered between calls."""
        unknown = sorted({word for word in words if word not in self._split_words})
        if unknown:
            means = torch.stack([self.embeddings[list(word)].float().mean(0) for word in unknown])  # (n, d)
            self._split_words.update(zip(unknown, self._nearest(means, self.embeddings, self.k), strict=True))
        return torch.stack([self._split_words[word] for word in words])

    @property
    def k(self) -> int:
        return self.neighbours.shape[1]

    def candidates(self, input_ids: Tensor, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices and the tokens (P, k) that may fire there."""
        groups = self.vocabulary.word_groups(input_ids, attended).flatten()  # (B·L,): −1 where there is no word
        ids = input_ids.flatten()
        length = input_ids.shape[1]
        text = torch.arange(len(ids), device=ids.device) // length
        word = torch.where(groups >= 0, text * length + groups, -1)  # (B·L,) number of the word in the batch
        size = torch.bincount(word[word >= 0], minlength=len(ids))  # (B·L,) pieces of each word
        whole = (word >= 0) & (size[word] == 1) & ~self.excluded[ids]
        split = (word >= 0) & (size[word] > 1)
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        if split.any():
            places = split.nonzero(as_tuple=True)[0]
            pieces: dict[int, list[int]] = {}
            for number, piece in zip(word[places].tolist(), ids[places].tolist(), strict=True):
                pieces.setdefault(number, []).append(piece)
            row = {number: i for i, number in enumerate(pieces)}
            found = self._of_split_words([tuple(p) for p in pieces.values()])
            tokens[places] = found[[row[number] for number in word[places].tolist()]]
        position = (whole | split).nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended)  # (P,), (P, k)
        vectors = scene.hidden.reshape(-1, scene.hidden.shape[-1])[position]  # (P, d)
        near = scene.decoder.index_select(0, tokens.flatten()).view(*tokens.shape, -1)  # (P, k, d)
        score = torch.bmm(near, vectors[..., None]).squeeze(-1)  # (P, k)
        place, slot = (score > scene.floor[tokens]).nonzero(as_tuple=True)
        return position[place], tokens[place, slot]

    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended)
        allowed[position[:, None], tokens] = True
        return allowed.view(*input_ids.shape, -1)
