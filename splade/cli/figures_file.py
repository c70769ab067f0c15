"""The file of figures that `lexical-sae evaluate --output` writes, and what it may replace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from splade.errors import ConfigError
from splade.utils.atomic import write_json

FIGURES = {"task", "notes", "findings", "evaluated", "vocab_size"}
"""What a file of figures has, whichever measures were taken."""
RUN = "fingerprint"
"""What the results of a training have beside them."""


def check_output(file: Path) -> None:
    """Refuse a file for figures that cannot be written, before minutes of work, or that holds something else."""
    try:
        existed = file.exists()
        foreign = file.is_file() and file.stat().st_size > 0 and not _holds_figures(file)
        if not foreign:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()
        if not existed:
            file.unlink()
    except OSError as error:
        raise _unwritable(file, error) from error
    if foreign:
        raise ConfigError(
            f"{file} is there and holds no figures that evaluate wrote, so it is left alone; name another --output."
        )


def write_figures(file: Path, results: dict[str, Any]) -> None:
    """Write a file of figures, whole or not at all; a device or a pipe is written to as it is."""
    try:
        if file.exists() and not file.is_file():
            file.write_text(json.dumps(results, indent=1), encoding="utf-8")
        else:
            write_json(file.resolve(), results)  # a link stays a link
    except OSError as error:
        raise _unwritable(file, error) from error


def _holds_figures(file: Path) -> bool:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and set(content) >= FIGURES and RUN not in content


def _unwritable(file: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{file} cannot be written ({error.strerror}); name another file with --output.")
