"""Tensors that take long to compute, kept in the user's cache; nothing depends on their being there."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from splade.utils.cache import cache_folder

MOST_FILES = 16
"""Files of a kind that are kept; the longest unused goes first."""

MOST_BYTES = 512 << 20
"""Of all files of a kind together."""

_NAME, _DIGEST = "tensor", "sha256"


def kept(kind: str, key: str, compute: Callable[[], Tensor]) -> Tensor:
    """The tensor that `compute` gives, or what it gave when it was last called for that key, to the bit.

    `kind` names a folder of the cache, `key` a file there. A file that cannot be read or is damaged is made anew; where
    none can be written, the tensor is computed every time.
    """
    try:
        path = cache_folder() / kind / f"{key}.safetensors"
    except RuntimeError:  # a user without a home
        return compute()
    found = _read(path)
    if found is None:
        found = compute()
        with suppress(OSError, SafetensorError):
            _write(path, found)
    return found


def content_hash(*tensors: Tensor) -> str:
    """SHA-256 of values, shapes and types of tensors."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def computed_by(device: torch.device) -> list[object]:
    """What the last bits of a product of matrices depend on, beside the matrices."""
    autocast = torch.is_autocast_enabled(device.type) and str(torch.get_autocast_dtype(device.type))
    if device.type == "cuda":
        processor: object = torch.cuda.get_device_properties(device).name
    else:
        processor = [_processor(), torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()]
    return [torch.__version__, device.type, processor, torch.get_float32_matmul_precision(), autocast]


def _processor() -> str:
    """Its name: libraries choose their routines by it, and a home may be that of several machines."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line
    return platform.processor()


def _read(path: Path) -> Tensor | None:
    """What was kept; None where it is not, or not whole."""
    try:
        with safe_open(path, "pt") as file:
            tensor: Tensor = file.get_tensor(_NAME).clone()  # in memory of its own, aligned as if it were computed
            digest = (file.metadata() or {}).get(_DIGEST)
        if content_hash(tensor) != digest:
            return None
        os.utime(path)  # used now
    except (OSError, SafetensorError):
        return None
    return tensor


def _write(path: Path, tensor: Tensor) -> None:
    """Write a file in one step, and remove the longest unused where there are too many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = save({_NAME: tensor.detach().cpu().contiguous()}, {_DIGEST: content_hash(tensor)})
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".writing_", delete=False) as aside:
        try:
            aside.write(content)
            aside.close()
            os.replace(aside.name, path)
        except BaseException:
            aside.close()
            Path(aside.name).unlink(missing_ok=True)
            raise
    _make_room(path.parent)


def _make_room(folder: Path) -> None:
    """Remove the longest unused files beyond the bounds, what a killed process has left half written among them."""
    files = [(path.stat(), path) for path in folder.iterdir() if path.is_file()]
    files.sort(key=lambda entry: entry[0].st_mtime, reverse=True)
    room = MOST_BYTES
    for newer, (stat, path) in enumerate(files):
        room -= stat.st_size
        if newer and (newer >= MOST_FILES or room < 0):
            path.unlink(missing_ok=True)
