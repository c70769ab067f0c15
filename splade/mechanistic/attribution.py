"""Direct logit attribution: what each active token adds to a logit. The only place attributions are computed."""

from __future__ import annotations

import torch
from torch import Tensor

from splade.models.projection import pair_dot
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState


def compute_attribution_tensor(state: CircuitState, classes: Tensor) -> SparseRows:
    """a[j] = s[j] · W_eff[c, j] for the active tokens j of each row and one class c a row, so that

        logit[c] = Σ_j a[j] + b_eff[c]        exactly, because everything after the gate is linear for a given input.

    `classes` (R,). Returns the state's entries with their attributions as values; `.to_dense()` gives (R, V).
    Differentiable in s and in the head's weights; a ReLU head's mask counts as constant, as it is on the linear region.
    """
    upstream = state.region.of_class(classes)  # (R, H)
    effective = pair_dot(upstream, state.region.words, state.rows.row, state.rows.token)  # (N,): W_eff[c, j]
    return state.rows.with_value(state.rows.value * effective)


def position_scores(attribution: SparseRows, num_positions: int) -> Tensor:
    """(B·L,) exact scores of input positions: each active token's attribution, where its value came from."""
    _, position, value = attribution.by_position()
    return torch.zeros(num_positions, dtype=value.dtype, device=value.device).index_add(0, position, value)


def compute_active_slice_weff(sparse_vector: Tensor, effective: object) -> tuple[Tensor, Tensor]:
    """W_eff for the tokens active anywhere in the batch only: (R, C, K) and their ids (K,).

    `effective` is a `LinearRegion` (`state.region`), of which only these columns are computed, or a whole W_eff tensor.
    """
    tokens = (sparse_vector != 0).any(0).nonzero(as_tuple=True)[0]  # (K,)
    if isinstance(effective, Tensor):
        return effective[:, :, tokens], tokens
    return effective.columns(tokens), tokens  # type: ignore[attr-defined]
