from __future__ import annotations

from collections.abc import Callable

import pytest

from splade.errors import ConfigError
from splade.registry import Registry


def build_registry() -> Registry[Callable[[int], int]]:
    registry: Registry[Callable[[int], int]] = Registry("gate")
    registry.register("twice")(lambda x: 2 * x)
    registry.register("square")(lambda x: x * x)
    return registry


def test_a_registered_entry_is_found_by_name() -> None:
    assert build_registry().get("square")(5) == 25


def test_decorating_returns_the_object_itself() -> None:
    registry: Registry[type] = Registry("head")

    @registry.register("plain")
    class Plain: ...

    assert registry.get("plain") is Plain


def test_names_are_in_the_order_of_registration() -> None:
    assert build_registry().names() == ["twice", "square"]


def test_an_unknown_name_lists_the_choices_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as raised:
        build_registry().get("twise")
    assert str(raised.value) == "Unknown gate 'twise'; the choices are: twice, square. Did you mean 'twice'?"


def test_registering_a_name_twice_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="'twice' is registered twice"):
        build_registry().register("twice")
