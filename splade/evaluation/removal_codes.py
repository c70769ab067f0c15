"""What a model says of the same texts with one removal after another; the backbone reads them once.

A removal changes which columns fire and what the head makes of them, not what the backbone reads, so hidden states are
kept and only the projection and the head run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from splade.data.given import BATCH_SIZE
from splade.evaluation.sparse_probing import Matrix, as_matrix, mean_hidden
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel
from splade.models.removal import Removal
from splade.tasks.base import Batch, Task

MOST_KEPT = 1 << 30
"""Bytes of hidden states that are kept; of more texts the rest is read again for every removal."""


@dataclass(frozen=True)
class Codes:
    """What a model says of texts with something removed."""

    code: Matrix
    """(R, V), sparse."""
    logits: np.ndarray
    """(R, C)."""


class RemovalCodes:
    """Texts that a model has read, to be asked what is said of them without some tokens and words."""

    def __init__(
        self,
        model: LexicalModel,
        task: Task,
        batch_size: int = BATCH_SIZE,
        advance: Callable[[int], None] = lambda texts: None,
    ):
        """`advance` is told of every text that is read."""
        self.model, self.task, self.batch_size = model, task, batch_size
        self._kept: list[tuple[Batch, SparseSequence]] = []
        self._rest = np.arange(0)
        hidden, size, unkept = [], 0, []
        for batch, encoded in self._read(np.arange(len(task)), advance):
            hidden.append((batch.places, mean_hidden(encoded.hidden, batch, task).cpu().numpy()))
            size += encoded.hidden.numel() * encoded.hidden.element_size()
            if size <= MOST_KEPT:
                self._kept.append((batch, encoded))
            else:
                unkept.append(batch.rows)
        self._rest = np.concatenate([self._rest, *unkept])
        self.hidden = _in_order(hidden, len(task.labels))
        """(R, d) mean hidden states, which no removal changes."""

    @torch.no_grad()
    def without(self, removal: Removal) -> Codes:
        """What is said of all texts with this removed as well."""
        from scipy.sparse import vstack  # slow to load

        encoder = self.model.encoder.without(removal)
        places, codes, logits = [], [], []
        for batch, encoded in self._all():
            state = self.task.decide(self.model, replace(encoded, encoder=encoder), batch)
            places.append(batch.places)
            codes.append(as_matrix(state.rows))
            logits.append((batch.places, state.logits.float().cpu().numpy()))
        order = np.argsort(np.concatenate(places))
        return Codes(vstack(codes, "csr")[order], _in_order(logits, len(order)))

    def _all(self) -> Iterator[tuple[Batch, SparseSequence]]:
        yield from self._kept
        yield from self._read(self._rest)

    @torch.no_grad()
    def _read(
        self, rows: np.ndarray, advance: Callable[[int], None] = lambda texts: None
    ) -> Iterator[tuple[Batch, SparseSequence]]:
        module: Any = self.model
        module.eval()
        for batch in self.task.in_order(self.batch_size, self.model.device, rows):
            yield batch, self.model(batch.input_ids, batch.attention_mask)
            advance(len(batch.rows))


def _in_order(parts: list[tuple[np.ndarray, np.ndarray]], rows: int) -> np.ndarray:
    """(R, ·) from parts (n, ·) of the rows (n,)."""
    whole = np.zeros((rows, parts[0][1].shape[1]), dtype=parts[0][1].dtype)
    for places, values in parts:
        whole[places] = values
    return whole
