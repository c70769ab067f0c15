"""Identity: is each logit the sum of its words?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.figure import ERROR, Figure, beside
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.state import CircuitState


@dataclass(frozen=True)
class DLACheck:
    """|logit − (Σ_j s_j·W_eff[c, j] + b_eff[c])| over every input and every class."""

    max_error: float
    mean_error: float


@torch.no_grad()
def dla_errors(state: CircuitState) -> Tensor:
    """(R, C) errors of the identity: the forward pass's logits against the sum of attributions, class by class."""
    errors = torch.empty_like(state.logits)
    for c in range(state.logits.shape[1]):
        classes = torch.full((len(state.logits),), c, device=state.logits.device)
        total = compute_attribution_tensor(state, classes).sum_rows() + state.b_eff[:, c]
        errors[:, c] = (total - state.logits[:, c]).abs()
    return errors


@MEASURES.register("identity")
class Identity(Measure[DLACheck]):
    """The largest and the mean error of the identity."""

    title = "Identity"
    about = "Each logit is the sum of its words and a bias; what is left is the rounding of floats."
    section = "dla"
    figures = (
        Figure(
            "dla.max_error",
            "largest error of the sum",
            "Largest gap between a logit and the sum of its words, over every held-out {unit} and label.",
            ERROR,
            better="lower",
            headline=True,
            column="dla_error",
            beside=beside("mean {}", "dla.mean_error", ERROR),
        ),
        Figure(
            "dla.mean_error",
            "mean error of the sum",
            "Mean gap between a logit and the sum of its words, over every held-out {unit} and label.",
            ERROR,
            better="lower",
            brief=False,
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._errors: list[Tensor] = []

    def update(self, seen: Seen) -> None:
        self._errors.append(dla_errors(seen.state).cpu())

    def result(self) -> DLACheck:
        errors = torch.cat(self._errors)  # (R, C)
        return DLACheck(float(errors.max()), float(errors.mean()))
