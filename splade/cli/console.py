"""Where commands print: answers to standard output, all that is said about them to standard error."""

from __future__ import annotations

import os
import sys

from rich.console import Console

out = Console()
err = Console(stderr=True)


def say(sentence: str) -> None:
    """A sentence on standard error, on one line and as it is."""
    err.print(sentence, highlight=False, markup=False, soft_wrap=True)


def make_writable() -> None:
    """A stream that is closed is written to in vain, and one of few characters gets escapes for the others."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")
