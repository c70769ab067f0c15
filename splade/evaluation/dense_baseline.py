"""The dense baseline: the same backbone with an ordinary head, trained on the same data and budget."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from splade.models.backbone import Backbone
from splade.models.dense import DenseHead
from splade.models.lexical_sae import first_pieces
from splade.utils.cuda import Precision, pick_dtype


@dataclass(frozen=True)
class DenseState:
    """A prediction without an explanation."""

    logits: Tensor
    """(R, C)."""


class DenseClassifier(nn.Module):
    """A backbone under a `DenseHead`: what the sparse model gives up."""

    has_sparse_rows = False

    def __init__(self, backbone: Backbone, labels: Sequence[str], hidden_size: int, dtype: Precision = "auto"):
        super().__init__()
        self.labels = list(labels)
        self.backbone = backbone
        self.head = DenseHead(backbone.hidden_size, hidden_size, len(labels))
        self.dtype = dtype

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Hidden states (B, L, d)."""
        precision = pick_dtype(input_ids.device, self.dtype)
        with torch.autocast(input_ids.device.type, precision) if precision != torch.float32 else nullcontext():
            return self.backbone(input_ids, attention_mask)

    def classify(self, hidden: Tensor, attention_mask: Tensor) -> DenseState:
        return DenseState(self.head(hidden, attention_mask))

    def tag(self, hidden: Tensor, words: Tensor) -> DenseState:
        """A row a word of `words` (B, L), as `LexicalSAE.tag` takes them; by its first piece, as most taggers do."""
        return DenseState(self.head(hidden, words, torch.where(first_pieces(words), words, -1)))
