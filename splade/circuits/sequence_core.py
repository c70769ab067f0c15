"""The prediction of a tagger: a `CircuitState` with a row a labelled word, which knows where each word stands."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.models.encoder import SparseSequence


@dataclass(frozen=True)
class TagCircuitState(CircuitState):
    """Row r is a labelled word; everything that reads the rows of a `CircuitState` reads these too.

    It stands for per-position logits [B, L, C] and activations [B, L, V], and holds the labelled words alone.
    """

    sequence: SparseSequence
    """What the rows were read from; its `groups` (B, L) say which positions each row heard."""

    @property
    def place(self) -> Tensor:
        """(R,) flat position b·L + l of each word's first piece."""
        groups = self.sequence.row_of_position
        place = torch.full((self.sequence.num_rows,), len(groups), device=groups.device)
        spoken = (groups >= 0).nonzero(as_tuple=True)[0]
        return place.scatter_reduce(0, groups[spoken], spoken, "amin")

    @property
    def window(self) -> Tensor:
        """(R,) which text of the batch each word is in."""
        return self.place // self.sequence.input_ids.shape[1]

    @property
    def position(self) -> Tensor:
        """(R,) where in its text each word begins."""
        return self.place % self.sequence.input_ids.shape[1]

    def take(self, rows: Tensor) -> TagCircuitState:
        number = torch.full((self.sequence.num_rows + 1,), -1, device=rows.device)  # the last stands for no row
        number[rows] = torch.arange(len(rows), device=rows.device)
        groups = number[self.sequence.row_of_position].view_as(self.sequence.input_ids)
        kept = super().take(rows)
        sequence = replace(self.sequence, groups=groups)
        return TagCircuitState(kept.logits, kept.rows, kept.scores, kept.region, sequence)


SequenceCircuitState = TagCircuitState
