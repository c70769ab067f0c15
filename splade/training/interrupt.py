"""Ctrl-C, or a scheduler's SIGTERM, that loses nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# The signals that ask a process to leave, by a person at the keyboard or by what runs it (a scheduler, a container).
STOP_SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed or SIGTERM sent; what was learned or measured so far is saved."""

    advice = "Go on with the same command (train: with --resume, in the place of --overwrite if given)."
    """How to go on; a command that knows better says so."""


@contextmanager
def interruptible(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """A context in which Ctrl-C and SIGTERM are only noted; the function it gives tells whether one came. A second one
    ends all at once."""
    pressed = False

    def note(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        say(f"{STOP_SIGNALS[signal.Signals(number)]}: finishing this step and saving; again stops at once.")

    try:
        before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    except ValueError:  # not in the main thread, where signals cannot be caught
        yield lambda: False
        return
    try:
        yield lambda: pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
