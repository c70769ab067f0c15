"""The settings as a Markdown page: `python -m splade.config.document > docs/settings.md`."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from pydantic import TypeAdapter

from splade.config.schema import Config
from splade.config.variants import OpenSection, declarations

HEADER = """# Settings

Every setting of a YAML file, changed on the command line by `--set section.key=value`. This page is made from the code:
`python -m splade.config.document > docs/settings.md`.
"""


def settings_page() -> str:
    """One table a section: key, default, meaning."""
    schema = TypeAdapter(Config).json_schema()
    return HEADER + "".join(_tables("", Config(), schema, schema["$defs"]))


def _tables(prefix: str, values: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    rows, inner, properties = [], [], dict(schema["properties"])
    for declared in declarations(type(values)) if isinstance(values, OpenSection) else ():
        properties |= TypeAdapter(declared.settings).json_schema()["properties"]
    for field in dataclasses.fields(values):
        value, described = getattr(values, field.name), properties[field.name]
        if dataclasses.is_dataclass(value):
            nested = definitions[type(value).__name__]
            inner += _tables(f"{prefix}{field.name}.", value, nested, definitions)
            continue
        choices = _choices(described)
        meaning = " ".join(described.get("description", "").split()).replace("|", "\\|")
        if choices:
            meaning += f" Choices: {', '.join(map(str, choices))}."
        rows.append(f"| `{prefix}{field.name}` | `{json.dumps(value)}` | {meaning} |\n")
    title = prefix.rstrip(".") or "top level"
    intro = " ".join(schema.get("description", "").split())
    return [f"\n## {title}\n\n{intro}\n\n| key | default | meaning |\n|---|---|---|\n", *rows, *inner]


def _choices(described: dict[str, Any]) -> list[Any] | None:
    """What a value, or each of a list of them, may be; None: there is no list of it."""
    forms = [described, *described.get("anyOf", [])]
    return next((form["enum"] for whole in forms for form in (whole, whole.get("items", {})) if "enum" in form), None)


if __name__ == "__main__":
    print(settings_page(), end="")
