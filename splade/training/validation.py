"""What the validation split says of a model while it trains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from splade.models.protocol import Model, is_lexical
from splade.tasks import Task
from splade.training.objective import Objective
from splade.training.processes import Processes

BATCH_SIZE = 64
"""Texts read at a time; no figure depends on it."""


@dataclass(frozen=True)
class Validation:
    """The figures of a validation split, means over its rows."""

    figure: str
    """The name of `score`: accuracy, or f1 in tagging."""
    score: float
    ce: float
    """Cross-entropy, smoothed as in training."""
    active: float
    """Active tokens; 0 for a model without words."""

    def figures(self) -> dict[str, float]:
        """The figures by name, as they are reported."""
        return {self.figure: self.score, "ce": self.ce, "active": self.active}

    def __str__(self) -> str:
        active = f", {self.active:.1f} active tokens" if self.active else ""
        return f"{self.figure} {self.score:.4f}, ce {self.ce:.3f}{active}"


@torch.no_grad()
def validate(model: Model, task: Task, objective: Objective, processes: Processes) -> Validation:
    """Read the whole split, each text by one process."""
    device, lexical = processes.device, is_lexical(model)
    logits = torch.zeros(len(task.labels), len(model.labels), device=device)  # (N, C), zero where others read
    sums = torch.zeros(2, device=device)
    for batch in task.in_order(BATCH_SIZE, device, processes.share(np.arange(len(task)))):
        state = task.predict(model, batch)
        logits[torch.from_numpy(batch.places).to(device)] = state.logits
        ce = objective.cross_entropy(state.logits, batch.labels).sum()
        sums += torch.stack([ce, ce.new_tensor(float(len(state.rows)) if lexical else 0.0)])
    ce_mean, active = (processes.sum(sums) / len(task.labels)).tolist()
    return Validation(task.figure, task.score(processes.sum(logits)), ce_mean, active)
