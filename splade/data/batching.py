"""Texts tokenised once, and batches of texts of similar length, so that little work is spent on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CHUNK = 1024  # texts tokenised at a time: the tokenizer's own records of a text are far larger than its ids
POOL = 50  # batches sorted together: enough to make lengths alike, few enough to keep an epoch's order random


@dataclass(frozen=True)
class EncodedTexts:
    """Token ids of all texts end to end; text ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray
    offsets: np.ndarray
    truncated: int
    """Texts that were longer than the limit."""
    words: int
    """Words, split at white space, that were kept."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """Token ids of one text, special tokens included."""
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    def words_of(self, row: int) -> np.ndarray | None:
        """A number a word for each token of one text, −1 for none, where the words were given; None: they were not."""
        return None

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text."""
        return np.diff(self.offsets)


def encode_texts(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, max_length: int) -> EncodedTexts:
    """Tokenise all texts with a fast tokenizer, cutting each to ``max_length`` tokens and counting what is cut."""
    pieces: list[np.ndarray] = []
    truncated = words = 0
    for start in range(0, len(texts), CHUNK):
        chunk = list(texts[start : start + CHUNK])
        encodings = tokenizer(chunk, truncation=True, max_length=max_length).encodings or []
        for text, encoding in zip(chunk, encodings, strict=True):
            pieces.append(np.asarray(encoding.ids, dtype=np.int32))
            if encoding.overflowing:
                truncated += 1
                text = text[: max(end for _, end in encoding.offsets)]
            words += len(text.split())
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    ids = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
    return EncodedTexts(ids, offsets, truncated, words)


def longest_first(
    lengths: Sequence[int] | np.ndarray, batch_size: int, most_positions: int | None = None
) -> Iterator[np.ndarray]:
    """Every row once in batches of similar length, the longest first, so that memory runs out first or never.

    ``most_positions``: what a batch may have, padding included; of long rows it then has fewer than ``batch_size``.
    """
    lengths = np.asarray(lengths)
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        longest = max(1, int(lengths[order[0]]))
        rows = batch_size if most_positions is None else min(batch_size, max(1, most_positions // longest))
        yield order[:rows]
        order = order[rows:]


class LengthBucketedBatches:
    """The batches of each epoch: every row once, rows of one batch of similar length, all fixed by (seed, epoch)."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int, shuffle: bool = True) -> None:
        """With ``shuffle`` off, rows go from the longest to the shortest, so that memory runs out first or never."""
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle

    def __len__(self) -> int:
        """Batches an epoch."""
        return -(-len(self.lengths) // self.batch_size)

    def epoch(self, epoch: int) -> list[np.ndarray]:
        """Row numbers of each batch; only one batch may be smaller than ``batch_size``."""
        if not self.shuffle:
            return list(longest_first(self.lengths, self.batch_size))
        generator = np.random.default_rng([self.seed, epoch])
        rows = generator.permutation(len(self.lengths))
        pool = self.batch_size * POOL
        batches: list[np.ndarray] = []
        for start in range(0, len(rows), pool):
            pooled = rows[start : start + pool]
            batches += self._cut(pooled[np.argsort(self.lengths[pooled], kind="stable")])
        return [batches[number] for number in generator.permutation(len(batches))]

    def _cut(self, rows: np.ndarray) -> list[np.ndarray]:
        return [rows[start : start + self.batch_size] for start in range(0, len(rows), self.batch_size)]


def collate(encoded: EncodedTexts, rows: Sequence[int] | np.ndarray, pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask of some texts, padded on the right to the longest of them only."""
    texts = [encoded[int(row)] for row in rows]
    longest = max((len(text) for text in texts), default=0)
    input_ids = np.full((len(texts), longest), pad_id, dtype=np.int64)  # (B, L)
    attention_mask = np.zeros((len(texts), longest), dtype=np.int64)  # (B, L)
    for number, text in enumerate(texts):
        input_ids[number, : len(text)] = text
        attention_mask[number, : len(text)] = 1
    return torch.from_numpy(input_ids), torch.from_numpy(attention_mask)
