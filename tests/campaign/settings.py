"""Every setting of the schema with values in range, at its bounds, beyond them, and of other types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from pydantic import TypeAdapter

from splade.config.schema import Config

WRONG_TYPES = [
    *("abc", "", "[]", "{}", "null", "~", "true", "1.5", "nan", "inf", "-inf", "1e400", "0x10", "1_000", "\u0660"),
    *("2024-01-01", "[1, 2]", "{a: 1}", "- x", "&a", "'", "!!python/object"),
]
HUGE = 10**15  # what no memory holds, so that asking for it fails at once
SMALL = 6  # at most above a bound, so that nothing asked for is slow
#: Where a number costs time or memory in proportion, and a huge one would only show that.
COSTLY = ("epochs", "max_steps", "mlm_warmup_steps", "needles", "lengths", "senses", "seed")


@cache
def settings() -> dict[str, dict[str, Any]]:
    """`section.key` and what the schema says of it."""
    schema = TypeAdapter(Config).json_schema()
    return dict(_walk(schema, schema.get("$defs", {}), ""))


def _walk(schema: dict[str, Any], defs: dict[str, Any], above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema["properties"].items():
        reference = field.get("$ref", "").rpartition("/")[2]
        if reference and "properties" in defs[reference]:
            yield from _walk(defs[reference], defs, f"{above}{name}.")
        else:
            yield f"{above}{name}", field


def setting(rng: Random) -> str:
    """A setting with a value: half of them good, half at or beyond a bound, misspelt, or of another type."""
    key = rng.choice(list(settings()))
    field = rng.choice(settings()[key].get("anyOf", [settings()[key]]))
    kind = rng.random()
    if kind < 0.05:
        return f"{_misspelt(rng, key)}=1"
    if kind < 0.3:
        return f"{key}={rng.choice(WRONG_TYPES)}"
    return f"{key}={_value(rng, field, key)}"


def _misspelt(rng: Random, key: str) -> str:
    place = rng.randrange(len(key))
    return rng.choice(
        [key[:place] + key[place + 1 :], key + "s", key.upper(), key.replace(".", "_"), key + ".x", "x." + key, ".", ""]
    )


def _value(rng: Random, field: dict[str, Any], key: str) -> str:
    if "enum" in field:
        return rng.choice([*map(str, field["enum"]), "nonsense"])
    match field.get("type"):
        case "boolean":
            return rng.choice(["true", "false"])
        case "integer":
            low = field.get("minimum", field.get("exclusiveMinimum", -1))
            costly = key.rpartition(".")[2] in COSTLY
            return str(rng.choice([low - 1, low, low + 1, low + SMALL, low + 1, *([] if costly else [HUGE]), -HUGE]))
        case "number":
            low = field.get("minimum", field.get("exclusiveMinimum", 0.0))
            high = field.get("maximum", field.get("exclusiveMaximum", 1e3))
            return str(rng.choice([low, high, (low + high) / 2, low - 1, high + 1, 1e-9, 0.1, 0.5]))
        case "array":
            return rng.choice(["[]", "[a]", "[a, b]", "[1]", "[0.5]", "[a, a]", "[[]]"])
        case "object":
            return rng.choice(
                ["{}", "{a: {seed: 1}}", "{a: {nonsense: 1}}", "{a: 1}", "{a: {training.epochs: [1, 2]}}"]
            )
        case "null":
            return "null"
    return json.dumps(rng.choice(["nonsense", "x", ".", "/", "minilm", "text", "label", "train", "a/b/c", "ä漢"]))
