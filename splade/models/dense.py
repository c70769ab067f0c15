"""The ordinary head: a text's mean hidden state to logits, with nothing in between that a person could read."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class DenseHead(nn.Module):
    """Mean of the hidden states, then Linear(d, H) → ReLU → Linear(H, C)."""

    def __init__(self, width: int, hidden_size: int, num_classes: int):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden_size)
        self.fc2 = nn.Linear(hidden_size, num_classes)

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """Hidden states (B, L, d) and their mask (B, L) -> logits (B, C), in float32."""
        weight = attention_mask[..., None].float()  # (B, L, 1)
        mean = (hidden.float() * weight).sum(1) / weight.sum(1).clamp(min=1)  # (B, d)
        return self.fc2(F.relu(self.fc1(mean)))
