"""The texts a command is given: as arguments, in a file, or on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from splade.errors import DataError, OtherTaskError
from splade.kindly import err

if TYPE_CHECKING:
    from splade.config.schema import Task

Texts = TypeVar("Texts", bound=Sized)


@overload
def read_texts(texts: Iterable[str] | None, file: Path | None, task: Literal["classification"]) -> list[str]: ...


@overload
def read_texts(
    texts: Iterable[str] | None, file: Path | None, task: Literal["tagging"]
) -> list[str] | list[list[str]]: ...


def read_texts(texts: Iterable[str] | None, file: Path | None, task: Task) -> list[str] | list[list[str]]:
    """Texts of the arguments, of a file, or of standard input; for a tagger also lists of words, from a file."""
    wanted = list(texts or [])
    if file is not None:
        if wanted:
            raise DataError("Both texts and --file were given; give one of them.")
        return _said_if_none(_of_file(file, task), f"The file {file}")
    if wanted == ["-"]:
        return _said_if_none(_of_input(), "Standard input")
    if "-" in wanted:
        raise DataError("'-' (standard input) was given beside other texts; give one or the other.")
    wanted = wanted or ([] if sys.stdin.isatty() else _of_input())
    if not wanted:
        raise DataError("There is no text to read; give texts as arguments, --file FILE, or '-' for standard input.")
    return wanted


def _of_file(file: Path, task: Task) -> list[str] | list[list[str]]:
    """A text a line; of a file with columns, as training reads them, the texts or, for a tagger, the words."""
    from splade.data.columns import TEXT_COLUMN, raw_texts
    from splade.data.files import has_columns, read_columns, read_file
    from splade.data.tags import TOKENS_COLUMN, raw_words

    if not has_columns(file):
        return _lines(read_file(file, lambda stream, _: stream.read()))
    try:
        columns = read_columns(file, task)
    except OtherTaskError as error:
        raise DataError(f"{error.found}; name a file for {task}, or a .txt file with one text a line.") from None
    if task == "tagging" and TOKENS_COLUMN in columns:
        return raw_words(columns, TOKENS_COLUMN, str(file))
    if columns and TEXT_COLUMN not in columns:
        wanted = f"'{TOKENS_COLUMN}' or '{TEXT_COLUMN}'" if task == "tagging" else f"'{TEXT_COLUMN}'"
        raise DataError(f"{file} has no column {wanted}, only: {', '.join(columns)}; give the one to read that name.")
    return raw_texts(columns, TEXT_COLUMN, str(file)) if columns else []


def _of_input() -> list[str]:
    return _lines(sys.stdin.buffer.read().decode("utf-8-sig", "replace"))


def _lines(content: str) -> list[str]:
    """One text a line. Not `splitlines`, which also cuts at form feeds and other characters that texts may hold."""
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _said_if_none(texts: Texts, origin: str) -> Texts:
    """No texts have no answers; silence alone would look like a fault."""
    if not texts:
        err.print(
            f"{origin} has no texts, so there is nothing to print.", highlight=False, markup=False, soft_wrap=True
        )
    return texts
