"""`lexical-sae`, `python -m splade` and the scripts: Ctrl-C is answered quietly from the first moment to the last.

Light to import, because people change their minds in the seconds in which a command loads its libraries. Ctrl-C in the
middle of an import may surface as any exception, and in the last moments of the interpreter as a traceback of nothing
in particular; neither is of use to anybody.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from splade.errors import EXIT_INTERRUPTED


@contextmanager
def quietly_interrupted() -> Iterator[None]:
    """Within, Ctrl-C ends the program with one word and exit code 130, whatever it interrupts; a second one at once."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # a shell's background job ignores Ctrl-C
        yield
        return
    pressed = False

    def leave(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            os._exit(EXIT_INTERRUPTED)  # all that is written is there whole or not at all
        pressed = True
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, leave)
    try:
        yield
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if not pressed:
            raise
        if not isinstance(error, SystemExit):  # which has said what there is to say
            print("Stopped.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the interpreter's own end


def main() -> None:
    """Entry point of the console command."""
    with quietly_interrupted():
        import_module("splade.cli").main()


def run_command(module: str, name: str) -> None:
    """One command as a program of its own, as `splade/scripts/run_*.py` are."""
    with quietly_interrupted():
        command = getattr(import_module(module), name)
        import_module("typer").run(command)


if __name__ == "__main__":
    main()
