"""Checkpoints that survive a kill: written aside and renamed, hashed, never pickled, the one before always kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from splade.errors import CheckpointError
from splade.training.constants import KEPT_CHECKPOINTS
from splade.utils.atomic import written_whole

TENSORS, STATE, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to go on: tensors by name, and plain values."""

    tensors: dict[str, Tensor]
    state: dict[str, Any]


def save_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> Path:
    """Write `folder/step_…` so that it is there whole or not at all, then remove all but the newest two."""
    target = folder / f"step_{step:08d}"

    def failure(reason: object) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint of step {step} could not be written to {folder} ({reason}); earlier checkpoints are "
            "untouched, so make room and start again with --resume."
        )

    with written_whole(target, failure) as aside:
        save_file({k: v.detach().contiguous().cpu() for k, v in checkpoint.tensors.items()}, aside / TENSORS)
        (aside / STATE).write_text(json.dumps(checkpoint.state))
        (aside / MANIFEST).write_text(json.dumps({name: _sha256(aside / name) for name in (TENSORS, STATE)}))
        for name in (TENSORS, STATE, MANIFEST):
            _flush(aside / name)
    for old in list_checkpoints(folder)[:-KEPT_CHECKPOINTS]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def list_checkpoints(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted(folder.glob("step_*"))


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint after checking every file against its hash."""
    try:
        manifest: Mapping[str, str] = json.loads((path / MANIFEST).read_text())
        for name in (TENSORS, STATE):
            if _sha256(path / name) != manifest[name]:
                raise CheckpointError(f"The checkpoint {path.name} is damaged: {name} does not match its hash.")
        return Checkpoint(load_file(path / TENSORS), json.loads((path / STATE).read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"The checkpoint {path.name} is damaged or incomplete ({error}).") from error


def newest_checkpoint(folder: Path) -> tuple[Checkpoint, list[str]]:
    """The newest checkpoint that is whole, and a sentence for each newer one that had to be refused."""
    refused: list[str] = []
    for path in reversed(list_checkpoints(folder)):
        try:
            return load_checkpoint(path), refused
        except CheckpointError as error:
            refused.append(f"{error} The one before it is used.")
    raise nothing_to_resume(folder, f"{len(refused)} checkpoint(s), all damaged" if refused else "no checkpoint")


def nothing_to_resume(folder: Path, found: str) -> CheckpointError:
    """The sentence on a folder that has no checkpoint to go on from."""
    return CheckpointError(
        f"There is nothing to resume in {folder}: found {found}; start the run again without --resume."
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: IO[bytes]) -> str:  # Python 3.10 has no hashlib.file_digest
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
