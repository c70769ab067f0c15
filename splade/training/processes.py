"""The processes that train a model together: each reads its share of every batch, and what they sum is one sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor


class Processes:
    """This process among the others; alone, every sum is what it was."""

    def __init__(self, accelerator: Accelerator | None = None):
        self._accelerator = accelerator or Accelerator()
        self.device = self._accelerator.device
        self.rank, self.count = self._accelerator.process_index, self._accelerator.num_processes

    @property
    def writes(self) -> bool:
        """Whether this is the one process that writes files."""
        return self._accelerator.is_main_process

    def share(self, rows: np.ndarray) -> np.ndarray:
        """The rows that this process reads."""
        return rows[self.rank :: self.count]

    def sum(self, tensor: Tensor) -> Tensor:
        """The tensor added over processes; all of them must call it."""
        return self._accelerator.reduce(tensor, reduction="sum") if self.count > 1 else tensor

    def sum_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Add gradients over processes in one message; parameters a phase does not use stay without."""
        if self.count == 1:
            return
        # A process without rows in this step has no gradients, so all must first agree on which parameters have one.
        has = torch.tensor([float(p.grad is not None) for p in parameters], device=self.device)
        used = [p for p, count in zip(parameters, self.sum(has).tolist(), strict=True) if count]
        flat = self.sum(torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in used]))
        for parameter, part in zip(used, flat.split([p.numel() for p in used]), strict=True):
            parameter.grad = part.view_as(parameter)

    def wait(self) -> None:
        """Go on when all processes have come this far."""
        self._accelerator.wait_for_everyone()
