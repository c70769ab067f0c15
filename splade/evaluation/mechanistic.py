"""What is measured of a classifier, and the identity behind it, under the names of the user's documents."""

from __future__ import annotations

from torch import Tensor

from splade.evaluation.identity import dla_errors
from splade.evaluation.measures import declared
from splade.evaluation.run import Evaluation, all_logits, evaluate

__all__ = ["MEASURES_OF_CLASSIFIERS", "Evaluation", "all_logits", "compute_active_slice_weff", "dla_errors", "evaluate"]

MEASURES_OF_CLASSIFIERS = tuple(declared("classification"))


def compute_active_slice_weff(sparse_vector: Tensor, W_eff: Tensor) -> tuple[Tensor, Tensor]:
    """The effective weights (B, C, K) of the tokens active in any row of a batch, and these tokens (K,).

    Args:
        sparse_vector: (B, V).
        W_eff: (B, C, V).
    """
    active = (sparse_vector != 0).any(0).nonzero(as_tuple=True)[0]  # (K,)
    return W_eff.index_select(-1, active), active
