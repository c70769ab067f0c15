"""The schema as a page: plain HTML made once at the start, without script, for a machine without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

METHODS = ("get", "post")


def schema_page(schema: Mapping[str, Any]) -> str:
    """Every operation with what it takes and what it answers, and every type."""
    templates = Environment(
        loader=PackageLoader("splade.apps.server", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    operations = [
        {"path": path, "method": method.upper(), "id": operation["operationId"], **_operation(operation)}
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]
    types = [_described(name, one) for name, one in sorted(schema["components"]["schemas"].items())]
    return templates.get_template("schema.html.j2").render(info=schema["info"], operations=operations, types=types)


def _operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    responses = operation["responses"]
    return {
        "summary": operation.get("summary", ""),
        "description": operation.get("description", ""),
        "parameters": [
            {"name": one["name"], "where": one["in"], "type": _type(one["schema"])}
            for one in operation.get("parameters", [])
        ],
        "body": _type(next(iter(content.values()))["schema"]) if content else None,
        "answers": [
            {"status": status, "said": one["description"], "type": _of_response(one)}
            for status, one in responses.items()
        ],
    }


def _of_response(response: Mapping[str, Any]) -> list[dict[str, str]]:
    content = response.get("content", {})
    return _type(next(iter(content.values()))["schema"]) if content else []


def _described(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    fields = [
        {
            "name": key,
            "type": _type(one),
            "needed": key in required,
            "said": one.get("description", ""),
            "default": json.dumps(one["default"]) if "default" in one else "",
        }
        for key, one in schema.get("properties", {}).items()
    ]
    return {"name": name, "description": schema.get("description", ""), "fields": fields}


def _type(schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """A type as pieces of text, some of which lead to the type that they name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [{"text": name, "link": name}]
    if "anyOf" in schema:
        pieces: list[dict[str, str]] = []
        for one in schema["anyOf"]:
            pieces += [{"text": " or "}] if pieces else []
            pieces += _type(one)
        return pieces
    kind = schema.get("type", "anything")
    if kind == "array":
        return [{"text": "list of "}, *_type(schema.get("items", {}))]
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return [{"text": "by name: "}, *_type(schema["additionalProperties"])]
    if "enum" in schema or "const" in schema:
        return [{"text": " or ".join(json.dumps(one) for one in schema.get("enum", [schema.get("const")]))}]
    return [{"text": kind + _bounds(schema)}]


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None or high is not None:
        return f" ({low if low is not None else '…'} to {high if high is not None else '…'})"
    return f" (up to {schema['maxLength']:,} characters)" if "maxLength" in schema else ""
