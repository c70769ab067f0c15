"""The circuit of a prediction: the few tokens that carry it."""

from __future__ import annotations

import torch
from torch import Tensor

from splade.models.sparse import SparseRows
from splade.models.state import CircuitState

__all__ = ["CircuitState", "circuit_mask", "circuit_size"]

# How sharply the soft mask of training falls off between the last token kept and the first left out, relative to the
# attribution halfway between them.
MASK_SHARPNESS = 10.0


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
