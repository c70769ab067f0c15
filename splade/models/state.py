"""A prediction with everything needed to explain it, of a text and of a word."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from splade.models.encoder import SparseSequence
from splade.models.linear_region import LinearRegion
from splade.models.sparse import SparseRows


@dataclass(frozen=True)
class CircuitState:
    """Logits, the sparse rows they were computed from, and the affine map between the two."""

    logits: Tensor
    """(R, C)."""
    rows: SparseRows
    """Active tokens and their values s (in training also inactive ones near their threshold, with value 0)."""
    scores: Tensor
    """(N,) the scores z behind `rows.value`, before the gate."""
    region: LinearRegion

    @property
    def read_from(self) -> SparseSequence | None:
        """The sequence with the rows of this prediction, where they are not whole texts; else None."""
        return None

    def take(self, rows: Tensor) -> CircuitState:
        """Some rows (K,), by ascending number."""
        inside = torch.isin(self.rows.row, rows)
        return replace(
            self,
            logits=self.logits.index_select(0, rows),
            rows=self.rows.take(rows),
            scores=self.scores[inside],
            region=self.region.take(rows),
        )

    @property
    def sparse_vector(self) -> Tensor:
        """(R, V) s as a dense tensor, built when asked for."""
        return self.rows.to_dense()

    @property
    def W_eff(self) -> Tensor:
        """(R, C, V) effective weights, built when asked for."""
        return self.region.dense()

    @property
    def b_eff(self) -> Tensor:
        """(R, C) effective bias."""
        return self.region.b_eff


@dataclass(frozen=True)
class TagCircuitState(CircuitState):
    """Row r is a labelled word; everything that reads the rows of a `CircuitState` reads these too.

    It stands for per-position logits [B, L, C] and activations [B, L, V], and holds the labelled words alone.
    """

    sequence: SparseSequence
    """What the rows were read from; its `groups` (B, L) say which positions each row heard."""

    @property
    def read_from(self) -> SparseSequence:
        return self.sequence

    @property
    def place(self) -> Tensor:
        """(R,) flat position b·L + l of each word's first piece."""
        groups = self.sequence.row_of_position
        place = torch.full((self.sequence.num_rows,), len(groups), device=groups.device)
        spoken = (groups >= 0).nonzero(as_tuple=True)[0]
        return place.scatter_reduce(0, groups[spoken], spoken, "amin")

    def take(self, rows: Tensor) -> TagCircuitState:
        number = torch.full((self.sequence.num_rows + 1,), -1, device=rows.device)  # the last stands for no row
        number[rows] = torch.arange(len(rows), device=rows.device)
        groups = number[self.sequence.row_of_position].view_as(self.sequence.input_ids)
        kept = super().take(rows)
        sequence = replace(self.sequence, groups=groups)
        return TagCircuitState(kept.logits, kept.rows, kept.scores, kept.region, sequence)


SequenceCircuitState = TagCircuitState
