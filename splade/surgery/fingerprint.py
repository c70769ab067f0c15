"""A model's hash, by which records of removals say which model they are of: in memory as on disk, wherever it lies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import torch

from splade.models.removal import Removal
from splade.models.savable import Savable
from splade.models.saving import saved_tensors

SHUT = "encoder.suppressed"
"""The tensor that a removal changes; what it says is in the removal."""


def canonical(value: Any) -> str:
    """A value as the one JSON text that stands for it: keys sorted, no white space, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def parts_hash(model: Savable) -> str:
    """SHA-256 of all that a model computes by, apart from what is removed: weights, settings, labels, vocabulary."""
    tensors = hashlib.sha256()
    for name, tensor in sorted(saved_tensors(model).items()):
        if name != SHUT:
            tensors.update(canonical([name, str(tensor.dtype), list(tensor.shape)]).encode())
            flat = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.flatten())  # a stride of 1, always
            tensors.update(flat.view(torch.uint8).numpy().data)
    own = {key: value for key, value in model.own_settings().items() if key not in ("shut_words", "silenced_words")}
    settings = {
        "model": asdict(model.config),
        "task": model.task,
        "labels": model.labels,
        "max_length": model.max_length,
        "own": own,
    }
    return digest([tensors.hexdigest(), settings, digest(sorted(model.tokenizer.get_vocab().items()))])


def hash_with(parts: str, removal: Removal) -> str:
    """The hash of a model, by that of its parts, from which something is removed."""
    return digest([parts, removal.to_json()])


@dataclass(frozen=True)
class Snapshot:
    """Which model it is, and what is removed from it."""

    parts: str
    """`parts_hash`."""
    removal: Removal

    @property
    def hash(self) -> str:
        return hash_with(self.parts, self.removal)


def snapshot(model: Any) -> Snapshot:
    """Of a model as it is now."""
    return Snapshot(parts_hash(model), model.removal)


def model_hash(model: Any) -> str:
    """The hash of a model as it is now."""
    return snapshot(model).hash
