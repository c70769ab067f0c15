"""YAML from outside: what it says, or a sentence's part that tells why it says nothing."""

from __future__ import annotations

from typing import Any

import yaml

MOST_VALUES = 100_000  # with aliases written out; nobody sets so many, and a few lines can write out to billions


class YAMLTextError(Exception):
    """The text is no YAML, or none that settings can be: where, and why."""


def parse_yaml(text: str) -> Any:
    """The value that YAML says; a key twice, a list in itself and aliases without end are errors too."""
    try:
        value = yaml.load(text, _Loader)  # a SafeLoader
        if _size(value, {}) > MOST_VALUES:
            raise YAMLTextError(f"it writes out to more than {MOST_VALUES:,} values")
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YAMLTextError(f"{line}{error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise YAMLTextError(f"character {error.position + 1}: {error.reason}") from None
    except RecursionError:
        raise YAMLTextError("it is nested too deep, or holds itself") from None
    # Constructors fail on what looks like a number, a date or a tagged value and is none, each in its own way.
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise YAMLTextError(f"a value that cannot be read: {reason}") from None
    return value


class _Loader(yaml.SafeLoader):
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """As usual, but a key that stands there twice is an error: the later value would silently win."""
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} twice", key.start_mark)
                seen.add((key.tag, key.value))
        return node


def _size(value: object, known: dict[int, int]) -> int:
    """The number of values in a value, each counted as often as it is written out."""
    if not isinstance(value, dict | list | tuple | set):
        return 1
    if id(value) not in known:
        inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(each, known) for each in inner)
    return known[id(value)]
