"""Ctrl-C that loses nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """Ctrl-C was pressed; what was learned so far is saved."""


@contextmanager
def interruptible(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C is only noted, and the function given tells whether it was; a second Ctrl-C ends all at once."""
    pressed = False

    def note(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        say("Ctrl-C: finishing this step and saving; press again to stop at once.")

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, where signals cannot be caught
        yield lambda: False
        return
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
