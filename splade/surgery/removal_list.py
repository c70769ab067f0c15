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
    listed: dict[str, Any] = found if isinstance(found, dict) else {"shut": None}
    shut, silence = listed.get("shut", []), listed.get("silence", [])
    if not _is_list_of(shut, str | int) or not _is_list_of(silence, str):
        raise ConfigError(
            f'The file {path} is no list of removals; {{"shut": ["wooden"], "silence": ["film"]}} was expected.'
        )
    if not shut and not silence:
        raise ConfigError(f"The file {path} removes nothing; name a token to shut or a word to silence.")
    return RemovalList(shut, silence)


def _is_list_of(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) and not isinstance(one, bool) for one in value)
