"""The file of a concept: what carries it, what its removal was measured to do, and the names to remove."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from splade.errors import ConfigError
from splade.models.protocol import LexicalModel
from splade.surgery.concepts import Concept
from splade.utils.atomic import write_json
from splade.utils.reading import read_bytes

FORMAT = 1


def write_concept(path: Path, model: LexicalModel, concept: Concept, size: int, measured: Mapping[str, Any]) -> None:
    """Write a concept with the names that are to be removed of it, and what was measured."""
    tokens, words = concept.targets(model, size) if size else ([], [])
    removed = {"tokens": tokens, "words": words}
    write_json(path, {"format": FORMAT, "concept": concept.to_json(), "removed": removed, **measured})


def read_concept(path: Path) -> tuple[Concept, list[str], list[str]]:
    """A concept that was written, the tokens to shut and the words to silence."""
    wrong = ConfigError(f"{path} is no file of a concept as lexical-sae concept --report writes it; name such a file.")
    try:
        content = read_bytes(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); name the file of a concept.") from error
    try:
        values = json.loads(content)
        concept, removed = Concept.from_json(values["concept"]), values["removed"]
        tokens, words = removed["tokens"], removed["words"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise wrong from None
    if not all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in (tokens, words)):
        raise wrong
    if not tokens and not words:
        raise ConfigError(f"The concept '{concept.name}' in {path} removes no word; see there why, and choose others.")
    return concept, tokens, words
