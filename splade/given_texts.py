"""The texts a command is given: as arguments, in a file, or on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from splade.errors import DataError


def read_texts(texts: Iterable[str] | None, file: Path | None) -> list[str]:
    """Texts of the arguments, of a file, or of standard input."""
    wanted = list(texts or [])
    if file is not None:
        if wanted:
            raise DataError("Both texts and --file were given; give one of them.")
        try:
            return _lines(file.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{file} cannot be read as UTF-8 text ({error}); name a file with one text a line."
            ) from error
    if wanted == ["-"] or (not wanted and not sys.stdin.isatty()):
        return _lines(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if "-" in wanted:
        raise DataError("'-' (standard input) was given beside other texts; give one or the other.")
    if not wanted:
        raise DataError("There is no text to read; give texts as arguments, --file FILE, or '-' for standard input.")
    return wanted


def _lines(content: str) -> list[str]:
    """One text a line. Not `splitlines`, which also cuts at form feeds and other characters that texts may hold."""
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
