"""The dense baseline: the same backbone under an ordinary head, with nothing in between that a person could read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig, Task
from splade.models.backbone import Backbone
from splade.models.building import ShapesOnly
from splade.models.lexical_sae import first_pieces
from splade.models.record import SavedModel
from splade.models.savable import Savable
from splade.utils.cuda import pick_dtype


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


@dataclass(frozen=True)
class DenseState:
    """A prediction without an explanation."""

    logits: Tensor
    """(R, C)."""


class DenseClassifier(Savable):
    """A backbone under a `DenseHead`: what the sparse model gives up. It classifies, or tags words.

    hidden = model(input_ids, attention_mask)               # (B, L, d)
    state = model.classify(hidden, attention_mask)          # DenseState
    state = model.tag(hidden, words)                        # the same with a row a word
    """

    kind = "dense"
    has_sparse_rows = False

    def __init__(
        self,
        backbone: Backbone,
        tokenizer: PreTrainedTokenizerFast,
        labels: Sequence[str],
        config: ModelConfig,
        *,
        max_length: int,
        task: Task = "classification",
    ):
        """As a `LexicalSAE` of the same run is made; of `config`, `hidden_size` and `dtype` are what matters."""
        super().__init__()
        self.config, self.labels, self.tokenizer, self.task = config, list(labels), tokenizer, task
        self.record = {}
        self.max_length = min(max_length, backbone.max_length)
        self.backbone = backbone
        self.head = DenseHead(backbone.hidden_size, config.hidden_size, len(self.labels))

    @classmethod
    def from_saved(cls, backbone: Backbone, tokenizer: PreTrainedTokenizerFast, saved: SavedModel) -> DenseClassifier:
        with ShapesOnly():
            return cls(backbone, tokenizer, saved.labels, saved.model, max_length=saved.max_length, task=saved.task)

    @property
    def device(self) -> torch.device:
        return self.head.fc1.weight.device

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Hidden states (B, L, d)."""
        precision = pick_dtype(input_ids.device, self.config.dtype)
        with torch.autocast(input_ids.device.type, precision) if precision != torch.float32 else nullcontext():
            return self.backbone(input_ids, attention_mask)

    def classify(self, hidden: Tensor, attention_mask: Tensor) -> DenseState:
        """Decide on texts, by the mean of all their positions."""
        return DenseState(self.head(hidden, attention_mask))

    def tag(self, hidden: Tensor, words: Tensor) -> DenseState:
        """A row a word of `words` (B, L), as `LexicalSAE.tag` takes them; by its first piece, as most taggers do."""
        return DenseState(self.head(hidden, words, self.row_of_position(words, words)))

    @staticmethod
    def row_of_position(attention_mask: Tensor, words: Tensor | None = None) -> Tensor:
        """(B, L) the row that each position is read for, −1 for none: all of a text, or of a word its first piece."""
        if words is None:
            texts = torch.arange(len(attention_mask), device=attention_mask.device)[:, None]  # (B, 1)
            return torch.where(attention_mask > 0, texts, -1)
        return torch.where(first_pieces(words), words, -1)
