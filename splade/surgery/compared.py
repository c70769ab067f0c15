"""The same texts through a model and through what is left of it: two real forward passes, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from splade.data.given import BATCH_SIZE, whole_number
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.surgery.suppressed_model import SuppressedModel
from splade.tasks.base import Batch, Task
from splade.tasks.reader import check_logits


@dataclass(frozen=True)
class Compared:
    """A batch with all that a model has, and without what is removed."""

    batch: Batch
    before: CircuitState
    after: CircuitState

    def changes(self) -> SparseRows:
        """Every entry of either, with what its value changed by; a token's position is the one before, where it had
        one."""
        first, second = self.before.rows, self.after.rows
        row = torch.cat([first.row, second.row])
        key = row * first.vocab_size + torch.cat([first.token, second.token])
        keys, which = key.unique(return_inverse=True)  # (N,), ascending
        change = first.value.new_zeros(len(keys)).index_add(0, which, torch.cat([-first.value, second.value]))
        position = torch.empty_like(keys)
        position[which.flip(0)] = torch.cat([first.position, second.position]).flip(0)
        place = keys // first.vocab_size, keys % first.vocab_size, position
        return SparseRows(*place, change, first.num_rows, first.vocab_size)

    def direct(self, changes: SparseRows, number: int) -> SparseRows:
        """What each change does to the logit of one class with the head's map as it was before: Δs_j·W_eff[c, j]."""
        return compute_attribution_tensor(replace(self.before, rows=changes), self._classes(number))

    def through_mask(self, number: int) -> Tensor:
        """(R,) what the change of the head's map does to what is left: Σ_j s'_j·(W'_eff − W_eff)[c, j] + b' − b."""
        classes = self._classes(number)
        now = compute_attribution_tensor(self.after, classes).sum_rows()
        as_before = compute_attribution_tensor(replace(self.before, rows=self.after.rows), classes).sum_rows()
        return (now - as_before) + (self.after.b_eff - self.before.b_eff)[:, number]

    def _classes(self, number: int) -> Tensor:
        return torch.full((len(self.before.logits),), number, device=self.before.logits.device)


@torch.no_grad()
def compare(suppressed: SuppressedModel, task: Task, batch_size: int = BATCH_SIZE) -> Iterator[Compared]:
    """All batches of a task, the longest texts first."""
    model: Any = suppressed.model
    suppressed.eval()
    for batch in task.in_order(whole_number(batch_size, "batch_size", 1), model.device):
        before, after = task.predict(model, batch), task.predict(suppressed, batch)
        check_logits(before.logits)
        check_logits(after.logits)
        yield Compared(batch, before, after)
