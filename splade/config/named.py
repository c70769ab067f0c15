"""Which settings somebody named, in a file or on the command line; all others are defaults, or an earlier run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml


def named_by_overrides(overrides: Sequence[str]) -> list[str]:
    """The ``section.key`` of each ``section.key=value``; of a whole section, of each value in it."""
    pairs = [override.partition("=") for override in overrides]
    return [key for name, _, text in pairs for key in _keys({name.strip(): _read(text)})]


def named_in_file(path: Path | None) -> list[str]:
    """The ``section.key`` of each value in a settings file; of none, and of one that cannot be read, nothing."""
    if path is None:
        return []
    try:
        content = _read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return _keys(content) if isinstance(content, Mapping) else []


def _read(text: str) -> object:
    """What is wrong with it, ``load_config`` says."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _keys(values: Mapping[object, object], parent: str = "") -> list[str]:
    keys = []
    for name, value in values.items():
        key = f"{parent}{name}"
        keys += _keys(value, f"{key}.") if isinstance(value, Mapping) else [key]
    return keys
