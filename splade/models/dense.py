"""The ordinary head: mean hidden states to logits, with nothing in between that a person could read."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class DenseHead(nn.Module):
    """Mean of a row's hidden states, then Linear(d, H) → ReLU → Linear(H, C)."""

    def __init__(self, width: int, hidden_size: int, num_classes: int):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden_size)
        self.fc2 = nn.Linear(hidden_size, num_classes)

    def forward(self, hidden: Tensor, attention_mask: Tensor, groups: Tensor | None = None) -> Tensor:
        """Hidden states (B, L, d) and their mask (B, L) -> logits (R, C), in float32.

        A row is a text, or what `groups` (B, L) says: the number of each position's row, −1 for none.
        """
        if groups is None:
            weight = attention_mask[..., None].float()  # (B, L, 1)
            mean = (hidden.float() * weight).sum(1) / weight.sum(1).clamp(min=1)  # (B, d)
        else:
            place = (groups.flatten() >= 0).nonzero(as_tuple=True)[0]
            row, states = groups.flatten()[place], hidden.reshape(-1, hidden.shape[-1]).index_select(0, place).float()
            counts = row.bincount()  # (R,)
            mean = states.new_zeros(len(counts), states.shape[1]).index_add(0, row, states) / counts[:, None]  # (R, d)
        return self.fc2(F.relu(self.fc1(mean)))
