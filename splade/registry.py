"""Named variants: a gate, a head or a support is written once, registered under a name and looked up by that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from splade.errors import ConfigError, nearest

T = TypeVar("T")
Registered = TypeVar("Registered")


class Registry(Generic[T]):
    """A table of variants of one kind.

    >>> heads: Registry[type] = Registry("head")
    >>> @heads.register("linear")
    ... class Linear: ...
    >>> heads.get("linear") is Linear
    True
    """

    def __init__(self, kind: str) -> None:
        """``kind`` is the word error messages use for an entry, such as ``"gate"``."""
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[Registered], Registered]:
        """Decorate a class or function so that ``get(name)`` returns it; the decorated object is left unchanged."""
        if name in self._entries:
            # A second registration would silently replace the first: a mistake in the program, not in its input.
            raise ValueError(f"The {self.kind} '{name}' is registered twice.")

        def remember(entry: Registered) -> Registered:
            self._entries[name] = entry  # type: ignore[assignment]  # keeps the decorated object's own, narrower type
            return entry

        return remember

    def get(self, name: str) -> T:
        """Return the entry called ``name``; an unknown name lists the choices and the nearest of them."""
        if name not in self._entries:
            choices = ", ".join(self.names()) or "none"
            raise ConfigError(
                f"Unknown {self.kind} '{name}'; the choices are: {choices}.{nearest(name, self._entries)}"
            )
        return self._entries[name]

    def names(self) -> list[str]:
        """Names in alphabetical order."""
        return sorted(self._entries)

    def entries(self) -> list[T]:
        """Entries in the order of their registration."""
        return list(self._entries.values())
