"""A trained model on disk: safetensors, tokenizer and two JSON files; nothing that could run code."""

from __future__ import annotations

import copy
import json
import platform
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast

from splade.errors import LexicalSAEError, ModelError
from splade.models.backbone import Backbone
from splade.models.building import ONE_AT_A_TIME
from splade.models.folder import (
    FILES,
    HASH,
    SETTINGS,
    SURGERY,
    WEIGHTS,
    check_hashes,
    check_model_folder,
    file_hash,
    is_as_read,
    read_settings,
    replaced_model,
    settings_hash,
)
from splade.models.record import FORMAT, SavedModel, check_format, check_settings
from splade.utils.atomic import write_json

if TYPE_CHECKING:  # which saves and loads itself by this module
    from splade.models.savable import Savable

Saved = TypeVar("Saved", bound="Savable")

ATTEMPTS = 10
"""Times a model is read where others save to its folder meanwhile; a save takes less time than a load."""


def library_versions() -> dict[str, str]:
    """Versions of what computes the figures."""
    names = ("lexical-sae", "torch", "transformers", "schedulefree", "safetensors")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def save_model(model: Savable, folder: Path, record: dict[str, object]) -> str:
    """Write a model to `folder`, whole or not at all; returns its content hash, which covers every file.

    `record` is kept beside the settings, together with what the model was loaded with. Files in the folder that no save
    wrote are left alone (`splade.models.folder`).
    """
    kept = {key: value for key, value in model.record.items() if key not in SavedModel.model_fields}
    with replaced_model(folder) as aside:
        save_file(saved_tensors(model), aside / WEIGHTS)
        model.backbone.config.save_pretrained(aside)
        _without_state(model.tokenizer).save_pretrained(aside)
        if model.surgery:
            (aside / SURGERY).write_bytes("".join(f"{line}\n" for line in model.surgery).encode())
        settings = {
            **kept,
            **record,
            "format": FORMAT,
            "kind": model.kind,
            "model": asdict(model.config),
            "task": model.task,
            "labels": model.labels,
            "max_length": model.max_length,
            "head": model.backbone.head,
            **model.own_settings(),
            "versions": library_versions(),
        }
        written = write_settings(aside, settings, [path.name for path in aside.iterdir()])
        (aside / WEIGHTS).chmod((aside / SETTINGS).stat().st_mode)  # safetensors writes for the owner alone
    return written[HASH]


def saved_tensors(model: Savable) -> dict[str, Tensor]:
    """The weights by name, each in the precision that the module it is in says by a `saved_dtype`, or in its own."""
    tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in model.state_dict().items()}
    for module_name, module in model.named_modules():
        if precision := getattr(module, "saved_dtype", None):
            inside = [name for name in tensors if name.startswith(f"{module_name}.")]
            tensors |= {name: tensors[name].to(precision) for name in inside if tensors[name].is_floating_point()}
    return tensors


def _without_state(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """A copy that has not been used: a tokenizer keeps how it padded and cut last, which is no part of a model."""
    unused = copy.deepcopy(tokenizer)
    unused.backend_tokenizer.no_padding()
    unused.backend_tokenizer.no_truncation()
    return unused


def write_settings(folder: Path, settings: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Write a model's settings, with the hashes of its files of the given names; returns them as they are written."""
    files = {name: file_hash(folder / name) for name in sorted(names)}
    try:
        settings = json.loads(json.dumps({**settings, FILES: files}))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"What is saved beside a model must be plain JSON values ({error}); leave it out.") from None
    settings[HASH] = settings_hash(settings)
    write_json(folder / SETTINGS, settings)
    return settings


def load_model(kind: type[Saved], folder: Path, *, draw: bool = False) -> Saved:
    """Read a model of a class from a folder written by `save_model`, after checking every file against its hash.

    `draw`: first start the backbone from random weights, which the saved ones replace. It takes longer and moves the
    random generator on, as trainings that go on from a saved model have always seen it.
    """
    for _ in range(ATTEMPTS):
        check_model_folder(folder, kind.kind)
        settings = read_settings(folder)
        try:
            model = _load(kind, folder, settings, draw)
        except ModelError:
            if is_as_read(folder, settings):
                raise
            continue  # another process has saved here meanwhile
        if is_as_read(folder, settings):
            return model
    raise ModelError(f"{folder} was saved to again and again while it was read; wait until that is over.")


def _load(kind: type[Saved], folder: Path, settings: dict[str, Any], draw: bool) -> Saved:
    check_format(folder, settings)
    check_hashes(folder, settings, weights=False)  # before anything is built by what they say
    with ThreadPoolExecutor(max_workers=1) as beside:  # a second processor hashes while this one builds
        checked = beside.submit(check_hashes, folder, settings, weights=True)
        try:
            model = build_model(kind, folder, settings, draw=draw)
        except LexicalSAEError:
            checked.result()  # damage is the better reason
            raise
        checked.result()
    return model


def build_model(kind: type[Saved], folder: Path, settings: dict[str, Any], *, draw: bool = False) -> Saved:
    """The model that the files of a folder make, whatever their hashes; `draw` as in `load_model`."""
    saved = check_settings(folder, settings, kind.kind)
    ONE_AT_A_TIME.acquire()
    try:
        backbone = Backbone.from_config(AutoConfig.from_pretrained(folder), saved.head, empty=not draw)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ModelError(f"{folder} has no fast tokenizer, which words are found by; save the model again.")
        model = kind.from_saved(backbone, tokenizer, saved)
        _allocate(model)
        model.load_state_dict(load_file(folder / WEIGHTS))
    except LexicalSAEError:
        raise
    except Exception as error:  # whatever the libraries raise: a damaged tokenizer is a bare Exception
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"The model in {folder} cannot be read ({reason}); copy or train it again.") from error
    finally:
        ONE_AT_A_TIME.release()
    model.record = settings
    model.surgery = _records(folder)
    return model


def _records(folder: Path) -> tuple[str, ...]:
    """The lines of the records of removals; whether they are whole, `splade.surgery` says."""
    path = folder / SURGERY
    try:
        return tuple(path.read_bytes().decode().removesuffix("\n").split("\n")) if path.is_file() else ()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read ({error}); copy the model again.") from None


def _allocate(model: Savable) -> None:
    """Give memory to what has only a shape so far and will be loaded; a tensor in two places stays one.

    Whatever is not loaded must not be memory that nobody wrote: it keeps its shape only, and any use of it fails.
    """
    for tensor in model.state_dict(keep_vars=True).values():
        if tensor.is_meta:
            memory = torch.empty_like(tensor, device="cpu")
            whole = nn.Parameter(memory, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else memory
            torch.utils.swap_tensors(tensor, whole)
