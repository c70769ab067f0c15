"""Ctrl-C, or a scheduler's SIGTERM, that loses nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What asks a process to leave: a person at the keyboard, and whatever else runs it (a scheduler, a container).
ASKS_TO_LEAVE = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed or SIGTERM sent; what was learned so far is saved."""


@contextmanager
def interruptible(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C and SIGTERM are only noted, and the function given tells whether one came; a second one ends all
    at once."""
    pressed = False

    def note(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        say(f"{ASKS_TO_LEAVE[signal.Signals(number)]}: finishing this step and saving; again stops at once.")

    try:
        before = {asks: signal.signal(asks, note) for asks in ASKS_TO_LEAVE}
    except ValueError:  # not in the main thread, where signals cannot be caught
        yield lambda: False
        return
    try:
        yield lambda: pressed
    finally:
        for asks, handler in before.items():
            signal.signal(asks, handler)
