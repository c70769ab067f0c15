"""Tasks: how rows of a data set become batches and batches become predictions. The loop knows nothing else of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.data.batching import EncodedTexts, LengthBucketedBatches, collate, encode_texts
from splade.data.types import TextSplit


@dataclass(frozen=True)
class Batch:
    """A padded batch."""

    input_ids: Tensor
    """(B, L)."""
    attention_mask: Tensor
    """(B, L)."""
    labels: Tensor
    """(B,)."""
    rows: np.ndarray
    """(B,) which rows of the split these are."""

    def to(self, device: torch.device) -> Batch:
        return Batch(self.input_ids.to(device), self.attention_mask.to(device), self.labels.to(device), self.rows)


class ClassificationTask:
    """Texts with one label each; a row of a prediction is a text."""

    def __init__(self, split: TextSplit, tokenizer, max_length: int):  # type: ignore[no-untyped-def]
        self.split = split
        self.encoded: EncodedTexts = encode_texts(split.texts, tokenizer, max_length)
        self.labels = np.asarray(split.labels, dtype=np.int64)
        self.pad_id = tokenizer.pad_token_id or 0

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, batch_size: int, seed: int = 0, *, shuffle: bool) -> LengthBucketedBatches:
        return LengthBucketedBatches(self.encoded.lengths, batch_size, seed, shuffle)

    def batch(self, rows: Sequence[int] | np.ndarray) -> Batch:
        input_ids, mask = collate(self.encoded, rows, self.pad_id)
        return Batch(input_ids, mask, torch.from_numpy(self.labels[rows]), np.asarray(rows))

    def in_order(self, batch_size: int, device: torch.device, rows: np.ndarray | None = None) -> Iterator[Batch]:
        """Every row once, longest first; `rows` limits it to some."""
        chosen = np.arange(len(self)) if rows is None else rows
        order = chosen[np.argsort(-self.encoded.lengths[chosen], kind="stable")]
        for start in range(0, len(order), batch_size):
            yield self.batch(order[start : start + batch_size]).to(device)

    @staticmethod
    def predict(model, batch: Batch):  # type: ignore[no-untyped-def]
        """The state of each row: something with `logits` (R, C), and for a LexicalSAE all the rest."""
        return ClassificationTask.decide(model, model(batch.input_ids, batch.attention_mask), batch)

    @staticmethod
    def decide(model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        """The second half of `predict`: from what the model encoded."""
        return model.classify(sequence, batch.attention_mask)
