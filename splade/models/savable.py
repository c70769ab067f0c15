"""A model that can be written to a folder and read from there: ours, and the dense baseline beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig, Task
from splade.errors import ModelError
from splade.models.backbone import Backbone
from splade.models.folder import Kind, model_path
from splade.models.record import SavedModel
from splade.models.saving import load_model, save_model
from splade.utils.cuda import pick_device

Loaded = TypeVar("Loaded", bound="Savable")


class Savable(ABC, nn.Module):
    """A backbone under a head, with all that says how texts are read and what comes out."""

    kind: ClassVar[Kind]
    """What its folder is said to hold, so that no other model is built from it."""
    backbone: Backbone
    tokenizer: PreTrainedTokenizerFast
    labels: list[str]
    config: ModelConfig
    max_length: int
    task: Task
    record: dict[str, Any]
    """Of a loaded model: what was saved beside the weights."""
    surgery: tuple[str, ...] = ()
    """The records of what was removed from it, a line each, as they are saved (`splade.surgery.chain`)."""

    @classmethod
    @abstractmethod
    def from_saved(
        cls: type[Loaded], backbone: Backbone, tokenizer: PreTrainedTokenizerFast, saved: SavedModel
    ) -> Loaded:
        """The model that its saved settings describe, as `saving.build_model` fills it with weights."""

    def own_settings(self) -> dict[str, Any]:
        """Settings that only models of its kind have."""
        return {}

    def save_pretrained(self, folder: str | Path, **record: object) -> str:
        """Write the model to a folder, beside whatever else is there; returns the content hash of all its files.

        `record`: plain values to keep beside the settings. What a loaded model has on record is kept too.
        """
        return save_model(self, model_path(folder), record)

    @classmethod
    def from_pretrained(cls: type[Loaded], folder: str | Path, device: torch.device | str | None = None) -> Loaded:
        """Load a model saved by `save_pretrained`, on the best device there is unless one is named."""
        model = load_model(cls, model_path(folder))
        try:
            return model.to(torch.device(device) if device is not None else pick_device()).eval()
        except (RuntimeError, TypeError, AssertionError) as error:  # unknown, or not on this machine
            reason = str(error).splitlines()[0]
            raise ModelError(
                f"The model cannot be put on the device {device!r:.40} ({reason:.80}); name another."
            ) from None
