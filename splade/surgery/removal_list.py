"""A list of removals as a file: words one a line, all to be shut, or as the Lab saves it, JSON that also says what to
silence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from splade.data.files import read_file
from splade.errors import ConfigError
from splade.surgery.targets import read_words

KEYS = ("shut", "silence")


@dataclass(frozen=True)
class RemovalList:
    """What a file asks to remove."""

    shut: list[str | int]
    """Tokens, by name or by number."""
    silence: list[str]
    """Words."""


def read_removals(path: Path) -> RemovalList:
    """The removals of a file; one that ends in .json holds `{"shut": […], "silence": […]}`."""
    if path.suffix.lower() != ".json":
        return RemovalList(list(read_words(path)), [])
    content: str = read_file(path, lambda stream, _: stream.read(), None)
    try:
        found: Any = json.loads(content)
    except ValueError as error:
        raise ConfigError(f"The file {path} is no JSON ({error}); save the list in the Lab again.") from None
    listed = [found.get(key, []) for key in KEYS] if isinstance(found, dict) else []
    if not listed or not all(isinstance(one, list) and all(_is_target(each) for each in one) for one in listed):
        raise ConfigError(
            f'The file {path} is no list of removals; {{"shut": ["wooden"], "silence": ["film"]}} was expected.'
        )
    shut, silence = listed
    if not shut and not silence:
        raise ConfigError(f"The file {path} removes nothing; name a token to shut or a word to silence.")
    return RemovalList(shut, [str(one) for one in silence])


def _is_target(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
