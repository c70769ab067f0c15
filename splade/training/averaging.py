"""The moving average of the weights, which is the model that is validated, kept and saved."""

from __future__ import annotations

import torch

from splade.models.roles import Module
from splade.training.optim import trainable

FIRST_STEPS = 10
"""Steps after which the average is slow: before, decay = (1 + t)/(10 + t), or it would still hold the random start."""


class WeightAverage:
    """average ← d·average + (1 − d)·weights after each step t, with d = min(decay, (1 + t)/(10 + t)).

    `eval()` puts the averages into the model and `train()` the weights back, as Schedule-Free's optimiser does it.
    """

    def __init__(self, model: Module, decay: float):
        self.decay, self.evaluating = decay, False
        self.weights = trainable(model) if decay else {}
        # The averages; while the model has those, the weights that were trained.
        self.shadow = {name: p.detach().clone() for name, p in self.weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after `step` steps."""
        decay = min(self.decay, (1 + step) / (FIRST_STEPS + step))
        for name, average in self.shadow.items():
            average.lerp_(self.weights[name], 1 - decay)

    def eval(self) -> None:
        self._swap(evaluating=True)

    def train(self) -> None:
        self._swap(evaluating=False)

    @torch.no_grad()
    def _swap(self, evaluating: bool) -> None:
        if evaluating == self.evaluating:
            return
        self.evaluating = evaluating
        for name, shadow in self.shadow.items():
            weight = self.weights[name]
            before = weight.clone()
            weight.copy_(shadow)
            shadow.copy_(before)
