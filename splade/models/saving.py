"""A trained model on disk: safetensors, tokenizer and two JSON files; nothing that could run code."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast

from splade.config.load import config_from_dict
from splade.errors import LexicalSAEError, ModelError
from splade.models.backbone import Backbone
from splade.models.folder import SETTINGS, check_model_folder
from splade.utils.atomic import written_whole

if TYPE_CHECKING:
    from splade.models.lexical_sae import LexicalSAE

WEIGHTS = "model.safetensors"

FORMAT = 2
"""Raised when a saved model's files change so that older code could not read them."""


def library_versions() -> dict[str, str]:
    """Versions of what computes the figures."""
    names = ("lexical-sae", "torch", "transformers", "schedulefree", "safetensors")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def save_model(model: LexicalSAE, folder: Path, record: dict[str, object]) -> str:
    """Write `folder` whole or not at all; `record` is kept beside the settings. Returns the weights' SHA-256."""
    with written_whole(folder, lambda reason: _not_written(folder, reason)) as aside:
        tensors = {name: t.detach().contiguous().cpu() for name, t in model.state_dict().items()}
        # The reader was rounded to half precision when it was made; nothing is lost by saving it so.
        tensors |= {name: t.half() for name, t in tensors.items() if ".reader." in name and t.is_floating_point()}
        save_file(tensors, aside / WEIGHTS)
        content_hash = _sha256(aside / WEIGHTS)
        settings = {
            "format": FORMAT,
            "model": asdict(model.config),
            "task": model.task,
            "labels": model.labels,
            "max_length": model.max_length,
            "head": model.backbone.head,
            "sense_tokens": [] if model.encoder.senses is None else model.encoder.senses.tokens.tolist(),
            "sha256": content_hash,
            "versions": library_versions(),
            **record,
        }
        (aside / SETTINGS).write_text(json.dumps(settings, indent=1, ensure_ascii=False), encoding="utf-8")
        (aside / WEIGHTS).chmod((aside / SETTINGS).stat().st_mode)  # safetensors writes for the owner alone
        model.backbone.config.save_pretrained(aside)
        model.tokenizer.save_pretrained(aside)
    return content_hash


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _not_written(folder: Path, reason: object) -> ModelError:
    return ModelError(
        f"The model could not be written to {folder} ({reason}); make room or choose another folder, and run again "
        "with --resume."
    )


def load_model(folder: Path, *, draw: bool = False) -> LexicalSAE:
    """Read a folder written by `save_model`, after checking the weights against their hash.

    `draw`: first start the backbone from random weights, which the saved ones replace. It takes longer and moves the
    random generator on, as trainings that go on from a saved model have always seen it.
    """
    from splade.models.lexical_sae import LexicalSAE

    check_model_folder(folder)
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        if settings["format"] != FORMAT:
            raise ModelError(
                f"{folder} was written in format {settings['format']}, and this version reads format {FORMAT}; train "
                "it again, or use the version of lexical-sae that wrote it."
            )
        if _sha256(folder / WEIGHTS) != settings["sha256"]:
            raise ModelError(
                f"{folder / WEIGHTS} is damaged: it does not match its hash; copy or train the model again."
            )
        config = config_from_dict({"model": settings["model"]}, str(folder / SETTINGS)).model
        backbone = Backbone.from_config(AutoConfig.from_pretrained(folder), settings["head"], empty=not draw)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ModelError(f"{folder} has no fast tokenizer, which words are found by; save the model again.")
        tokens = settings.get("sense_tokens")
        model = LexicalSAE(
            backbone,
            tokenizer,
            settings["labels"],
            config,
            max_length=settings["max_length"],
            senses=(tokens, torch.zeros(len(tokens), config.senses, backbone.hidden_size)) if tokens else None,
            blank=True,
            task=settings.get("task", "classification"),  # models saved before there was tagging
        )
        _allocate(model)
        model.load_state_dict(load_file(folder / WEIGHTS))
    except LexicalSAEError:
        raise
    except Exception as error:  # whatever the libraries raise: a damaged tokenizer is a bare Exception
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"The model in {folder} cannot be read ({reason}); copy or train it again.") from error
    model.record = settings
    return model


def _allocate(model: LexicalSAE) -> None:
    """Give memory to what has only a shape so far and will be loaded; a tensor in two places stays one.

    Whatever is not loaded must not be memory that nobody wrote: it keeps its shape only, and any use of it fails.
    """
    for tensor in model.state_dict(keep_vars=True).values():
        if tensor.is_meta:
            memory = torch.empty_like(tensor, device="cpu")
            whole = nn.Parameter(memory, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else memory
            torch.utils.swap_tensors(tensor, whole)


def load_backbone(folder: Path) -> tuple[Backbone, PreTrainedTokenizerFast]:
    """The backbone of a saved model with the scores over the vocabulary it has learned, to start another from."""
    model = load_model(folder, draw=True)
    backbone = model.backbone.requires_grad_(True)
    backbone.set_decoder_bias(model.encoder.bias)
    if model.config.train_decoder:
        backbone.set_decoder_weight(model.encoder.weight)
    return backbone.eval(), model.tokenizer
