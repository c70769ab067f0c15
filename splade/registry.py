"""Named variants: a gate, a head or a support is written once, registered under a name and looked up by that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from splade.errors import ConfigError, nearest

T_co = TypeVar("T_co", covariant=True)
Registered = TypeVar("Registered")


class Registry(Generic[T_co]):
    """A table of variants of one kind, in the order in which they were registered.

    >>> heads: Registry[type] = Registry("head")
    >>> @heads.register("linear")
    ... class Linear: ...
    >>> heads.get("linear") is Linear
    True

    A variant's own settings are a dataclass: the class's attribute ``Settings``, or of a function ``settings`` at its
    registration. What becomes of them says ``splade.config.variants``.
    """

    def __init__(self, kind: str) -> None:
        """``kind`` is the word error messages use for an entry, such as ``"gate"``."""
        self.kind = kind
        self._entries: dict[str, T_co] = {}
        self._settings: dict[str, type[Any]] = {}

    def register(self, name: str, settings: type[Any] | None = None) -> Callable[[Registered], Registered]:
        """Decorate a class or function so that ``get(name)`` returns it; the decorated object is left unchanged."""
        if name in self._entries:
            # A second registration would silently replace the first: a mistake in the program, not in its input.
            raise ValueError(f"The {self.kind} '{name}' is registered twice.")

        def remember(entry: Registered) -> Registered:
            self._entries[name] = entry  # type: ignore[assignment]  # keeps the decorated object's own, narrower type
            declared = settings or getattr(entry, "Settings", None)
            if declared is not None:
                self._settings[name] = declared
            return entry

        return remember

    def unregister(self, name: str) -> None:
        """Forget the entry called ``name``, such as one that a test has made."""
        del self._entries[name]
        self._settings.pop(name, None)

    def get(self, name: str) -> T_co:
        """Return the entry called ``name``; an unknown name lists the choices and the nearest of them."""
        if name not in self._entries:
            choices = ", ".join(self.names()) or "none"
            raise ConfigError(
                f"Unknown {self.kind} '{name}'; the choices are: {choices}.{nearest(name, self._entries)}"
            )
        return self._entries[name]

    def names(self) -> list[str]:
        """Names in the order in which they were registered."""
        return list(self._entries)

    def settings(self) -> dict[str, type[Any]]:
        """The dataclass of its own settings of each variant that has some, by the variant's name."""
        return dict(self._settings)

    def entries(self) -> list[T_co]:
        """Entries in the same order."""
        return list(self._entries.values())
