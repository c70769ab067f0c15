"""Direct logit attribution: what each active token adds to a logit. The only place attributions are computed."""

from __future__ import annotations

from torch import Tensor

from splade.models.linear_region import LinearRegion
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState


def compute_attribution_tensor(state: CircuitState, classes: Tensor) -> SparseRows:
    """a[j] = s[j] · W_eff[c, j] for the active tokens j of each row and one class c a row, so that

        logit[c] = Σ_j a[j] + b_eff[c]        exactly, because everything after the gate is linear for a given input.

    `classes` (R,). Returns the state's entries with their attributions as values; `.to_dense()` gives (R, V).
    Differentiable in s and in the head's weights; a ReLU head's mask counts as constant, as it is on the linear region.
    """
    effective = state.region.entries(classes, state.rows.row, state.rows.token)  # (N,): W_eff[c, j]
    return state.rows.with_value(state.rows.value * effective)


def compute_active_slice_weff(sparse_vector: Tensor, W_eff: Tensor | LinearRegion) -> tuple[Tensor, Tensor]:
    """The effective weights (R, C, K) of the tokens active in any row of a batch, and these tokens (K,).

    Args:
        sparse_vector: (R, V).
        W_eff: (R, C, V); or the map it is the matrix of, `state.region`, of which only these columns are computed.
    """
    active = (sparse_vector != 0).any(0).nonzero(as_tuple=True)[0]  # (K,)
    weights = W_eff.columns(active) if isinstance(W_eff, LinearRegion) else W_eff.index_select(-1, active)
    return weights, active
