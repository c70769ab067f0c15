"""Folders and files that are there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from splade.errors import LexicalSAEError


@contextmanager
def written_whole(target: Path, failure: Callable[[object], LexicalSAEError]) -> Iterator[Path]:
    """Within: an empty folder to write into; after: it takes the place of `target`, in one step.

    If writing fails, `target` stays as it was and `failure(reason)` is raised.
    """
    aside = target.with_name(f".writing_{target.name}")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        yield aside
    except (OSError, SafetensorError) as error:  # a disk that fills up under safetensors is an error of its own
        shutil.rmtree(aside, ignore_errors=True)
        raise failure(getattr(error, "strerror", None) or error) from error
    shutil.rmtree(target, ignore_errors=True)
    os.replace(aside, target)


def write_json(path: Path, values: object) -> None:
    """Write a JSON file in one step; a reader finds the old content or the new, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".writing_{path.name}")
    aside.write_text(json.dumps(values, indent=1, ensure_ascii=False), encoding="utf-8")
    os.replace(aside, path)
