"""Uncertainty weighting: each circuit loss is weighed by a variance that is learned with the model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

LARGEST_LOG_VARIANCE = 3.0
"""Weights stay within e^±3: a loss that reaches zero would otherwise weigh ever more."""


class UncertaintyWeights(nn.Module):
    """exp(−v)·loss + v/2 for each loss, v = 3·tanh(raw/3) its log-variance (Kendall, Gal & Cipolla, 2018).

    The gradient of v vanishes where exp(v) = 2·loss, so losses are weighed by the inverse of how large they stay.
    """

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.raw = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in names})

    def forward(self, name: str, loss: Tensor) -> Tensor:
        """(R,) loss, weighed. A row whose loss rests at zero says nothing of the variance."""
        log_variance = LARGEST_LOG_VARIANCE * torch.tanh(self.raw[name] / LARGEST_LOG_VARIANCE)
        return torch.where(loss == 0, 0.0, torch.exp(-log_variance) * loss + log_variance / 2)
