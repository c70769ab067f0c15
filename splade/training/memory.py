"""A batch size from the memory there is."""

from __future__ import annotations

import torch

from splade.models.backbone import Backbone
from splade.training.constants import LARGEST_AUTOMATIC_BATCH, MEMORY_PER_TOKEN_MB
from splade.utils.cuda import available_memory_mb, pick_device

SHARE_OF_MEMORY = 0.5
"""The rest is for weights, optimiser states and other programs."""


def choose_batch_size(backbone: Backbone, max_length: int) -> int:
    """The largest power of two, 4 to 64, whose activations fit half of the free memory at full length."""
    device = pick_device()
    free = torch.cuda.mem_get_info()[0] / 2**20 if device.type == "cuda" else available_memory_mb()
    text_mb = MEMORY_PER_TOKEN_MB * max_length * backbone.layers * backbone.config.hidden_size / 384
    size = 4
    while size < LARGEST_AUTOMATIC_BATCH and 2 * size * text_mb <= SHARE_OF_MEMORY * free:
        size *= 2
    return size
