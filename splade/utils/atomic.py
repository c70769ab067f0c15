"""Folders and files that are there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from splade.errors import LexicalSAEError


@contextmanager
def written_whole(target: Path, failure: Callable[[object], LexicalSAEError]) -> Iterator[Path]:
    """Within: an empty folder to write into; after: it takes the place of `target`, in one step.

    If writing fails, `target` stays as it was and `failure(reason)` is raised. Whatever `target` holds goes, so it must
    be a folder that nobody else writes to.
    """
    aside = target.with_name(f".writing_{target.name}")
    with written_aside(aside, failure):
        yield aside
    shutil.rmtree(target, ignore_errors=True)
    os.replace(aside, target)


@contextmanager
def written_aside(aside: Path, failure: Callable[[object], LexicalSAEError]) -> Iterator[None]:
    """Within: `aside` is an empty folder; after: its files are on the disk. If writing fails, it is gone again and
    `failure(reason)` is raised."""
    from safetensors import SafetensorError  # a disk that fills up under safetensors is an error of its own

    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        yield
        for path in aside.iterdir():
            _flush(path)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise failure(getattr(error, "strerror", None) or error) from error
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_text(path: Path, content: str) -> None:
    """Write a text file in one step; a reader finds the old content or the new, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".writing_{path.name}")
    try:
        aside.write_text(content, encoding="utf-8")
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, values: object) -> None:
    """Write a JSON file in one step."""
    write_text(path, json.dumps(values, indent=1, ensure_ascii=False))
