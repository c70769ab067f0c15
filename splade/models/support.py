"""Supports: which vocabulary tokens may fire at which input positions. One class a kind, behind `SUPPORTS`.

A support only proposes (position, token) pairs whose score might pass the gate; gate, head and attribution are the same
for all. A model may have several: their proposals are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.models.projection import scan_columns
from splade.models.vocabulary import Vocabulary
from splade.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from splade.models.backbone import Backbone

SUPPORTS: Registry[type[Support]] = Registry("support")

# Words of the training texts read by the backbone at a time.
WORDS_AT_A_TIME = 256


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

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:  # type: ignore[no-untyped-def]
        self.tokens = torch.empty_like(state_dict[prefix + "tokens"])  # as many words as the saved model has
        super()._load_from_state_dict(state_dict, prefix, *args)


@SUPPORTS.register("neighbourhood")
class NeighbourhoodSupport(Support):
    """A word and its k nearest whole words in the frozen input embeddings; nothing else can fire there.

    A word the tokenizer splits never surfaces as fragments: all its pieces propose the same k whole words. For words of
    the training texts these are what the frozen backbone reads in the word standing alone (`learn_split_words`:
    *snooze* → nap, sleepy); for others, the words nearest to the mean of the pieces' embeddings, which is a guess.
    """

    neighbours: Tensor
    embeddings: Tensor
    split_pieces: Tensor
    split_neighbours: Tensor

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
        self.register_buffer(
            "split_pieces", torch.empty(0, 0, dtype=torch.int32)
        )  # (S, most pieces), −1 after the last
        self.register_buffer("split_neighbours", torch.empty(0, neighbours, dtype=torch.int32))  # (S, k)
        self._split_words: dict[tuple[int, ...], Tensor] = {}  # the same, and guesses made so far

    @torch.no_grad()
    def learn_split_words(self, backbone: Backbone, decoder: Tensor, bias: Tensor, texts: Iterable[Tensor]) -> int:
        """Fill the table of split words with those of `texts` (padded ids), read by the untrained backbone.

        A word stands alone between the tokenizer's special tokens; its score for a whole word v is h̄·E[v] + b[v] with
        h̄ the mean of its pieces' hidden states. Returns the number of words.
        """
        words: dict[tuple[int, ...], None] = {}
        for input_ids in texts:
            words.update(dict.fromkeys(self._split_words_of(input_ids)[0].values()))
        ordered = sorted(words, key=lambda word: (len(word), word))
        whole, found = self.get_buffer("words"), []
        decoder, bias = decoder[whole], bias[whole]  # (W, d), (W,)
        tokenizer = self.vocabulary.tokenizer
        for start in range(0, len(ordered), WORDS_AT_A_TIME):
            chunk = [list(word) for word in ordered[start : start + WORDS_AT_A_TIME]]
            batch = tokenizer.pad({"input_ids": [_between_specials(tokenizer, w) for w in chunk]}, return_tensors="pt")
            ids, mask = batch["input_ids"].to(whole.device), batch["attention_mask"].to(whole.device)
            first = 0 if tokenizer.cls_token_id is None else 1  # special tokens before the word
            inside = torch.zeros_like(mask, dtype=torch.float32)
            for row, word in enumerate(chunk):
                inside[row, first : first + len(word)] = 1 / len(word)
            mean = (backbone(ids, mask).float() * inside[..., None]).sum(1)  # (n, d)
            found.append(whole[(mean @ decoder.T + bias).topk(self.k, dim=1).indices])  # (n, k)
        if ordered:
            width = max(map(len, ordered))
            rows = [[*word, *[-1] * (width - len(word))] for word in ordered]
            self.split_pieces = torch.tensor(rows, dtype=torch.int32, device=whole.device)
            self.split_neighbours = torch.cat(found).int()
        self._read_split_table()
        return len(ordered)

    def _read_split_table(self) -> None:
        pieces = (tuple(p for p in row if p >= 0) for row in self.split_pieces.tolist())
        self._split_words = dict(zip(pieces, self.split_neighbours.long(), strict=True))

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:  # type: ignore[no-untyped-def]
        for name in ("split_pieces", "split_neighbours"):  # as long as the saved model's training texts made them
            setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._read_split_table()

    def _apply(self, fn, recurse: bool = True):  # type: ignore[no-untyped-def]
        out = super()._apply(fn, recurse)
        self._read_split_table()  # on the new device
        return out

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

    def candidates(self, input_ids: Tensor, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices and the tokens (P, k) that may fire there."""
        split, word = self._split_words_of(input_ids, attended)
        ids = input_ids.flatten()
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        live = (word >= 0) & ~self.excluded[ids]
        if split:
            row_of = torch.full((len(ids),), -1, dtype=torch.long)
            row_of[list(split)] = torch.arange(len(split))
            row = torch.where(word >= 0, row_of.to(ids.device)[word], -1)  # (B·L,): which split word, or −1
            found = self._of_split_words(list(split.values()))  # (S, k)
            tokens = torch.where((row >= 0)[:, None], found[row], tokens)
            live |= row >= 0
        position = live.nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended)  # (P,), (P, k)
        vectors = scene.hidden.reshape(-1, scene.hidden.shape[-1])[position]  # (P, d)
        near = scene.decoder.index_select(0, tokens.flatten()).view(*tokens.shape, vectors.shape[1])  # (P, k, d)
        score = torch.bmm(near, vectors[..., None]).squeeze(-1)  # (P, k)
        place, slot = (score > scene.floor[tokens]).nonzero(as_tuple=True)
        return position[place], tokens[place, slot]

    def allows(self, input_ids: Tensor, attended: Tensor) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended)
        allowed[position[:, None], tokens] = True
        return allowed.view(*input_ids.shape, -1)


def _between_specials(tokenizer, pieces: list[int]) -> list[int]:  # type: ignore[no-untyped-def]
    """The ids of a text made of these pieces, special tokens included."""
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    return [*([] if first is None else [first]), *pieces, *([] if last is None else [last])]
