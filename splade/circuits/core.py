"""A prediction with everything needed to explain it, and the circuit: the few tokens that carry it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from splade.models.heads import LinearRegion
from splade.models.sparse import SparseRows

# How sharply the soft mask of training falls off between the last token kept and the first left out, relative to the
# attribution halfway between them.
MASK_SHARPNESS = 10.0


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


def circuit_size(active: Tensor, share: float) -> Tensor:
    """(R,) tokens a circuit keeps: the share of a row's *active* tokens, rounded up, so at least one if any is."""
    return torch.ceil(active * (share * (1 - 1e-6))).long()  # in float32, 330 · 0.3 is a little more than 99


def circuit_mask(attribution: SparseRows, active: Tensor, share: float, *, soft: bool = False) -> Tensor:
    """(N,) which entries belong to the circuit: the top share of each row's active tokens by |attribution|.

    `active` (N,) bool. Hard: 1 or 0. Soft (training): σ(k·(|a| − edge)/edge), so that masking does not jump from step
    to step; edge lies halfway between the |attribution| of the last token kept and of the first left out. What the mask
    takes from the one it gives to the other: the circuit weighs as much as the hard one of evaluation, and a token that
    stands alone is kept whole.
    """
    size = attribution.value.abs().detach() * active
    counts = attribution.with_value(active.to(size.dtype)).sum_rows()
    keep = circuit_size(counts, share)  # (R,)
    rank = attribution.rank_in_row(torch.where(active, size, -1.0))  # inactive entries last
    hard = (rank < keep[attribution.row]) & active
    if not soft:
        return hard.to(size.dtype)
    around = (rank == keep[attribution.row] - 1) | (rank == keep[attribution.row])  # the last kept, the first left out
    edge = torch.zeros(attribution.num_rows, device=size.device)
    edge = edge.index_add(0, attribution.row[around], size[around] / 2)
    edge = edge[attribution.row] + 1e-6
    return torch.sigmoid(MASK_SHARPNESS * (size - edge) / edge) * active
