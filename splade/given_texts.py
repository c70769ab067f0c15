"""The texts a command is given: as arguments, in a file, or on standard input."""

from __future__ import annotations

import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from splade.errors import DataError, OtherTaskError
from splade.kindly import err

if TYPE_CHECKING:
    from splade.config.schema import Task

Texts = TypeVar("Texts", bound=Sized)

ZEROS = 0.25
"""Share of zero bytes from which input is no text: of UTF-16, nearly half are."""


@overload
def read_texts(
    texts: Iterable[str] | None,
    file: Path | None,
    task: Literal["classification"],
    column: str | None = None,
    trained: Mapping[str, str | None] | None = None,
) -> list[str]: ...


@overload
def read_texts(
    texts: Iterable[str] | None,
    file: Path | None,
    task: Literal["tagging"],
    column: str | None = None,
    trained: Mapping[str, str | None] | None = None,
) -> list[str] | list[list[str]]: ...


def read_texts(
    texts: Iterable[str] | None,
    file: Path | None,
    task: Task,
    column: str | None = None,
    trained: Mapping[str, str | None] | None = None,
) -> list[str] | list[list[str]]:
    """Texts of the arguments, of a file, or of standard input; for a tagger also lists of words, from a file.

    `column`: the one of a file to read. `trained`: the settings of `data` that the model was trained with, where its
    own column has a name.
    """
    wanted = list(texts or [])
    if column is not None and file is None:
        raise DataError(f"--column {column} was given without a --file to read it from; name the file.")
    if file is not None:
        if wanted:
            raise DataError("Both texts and --file were given; give one of them.")
        return _said_if_none(_of_file(file, task, column, trained or {}), f"The file {file}")
    if wanted == ["-"]:
        return _said_if_none(_of_input(), "Standard input")
    if "-" in wanted:
        raise DataError("'-' (standard input) was given beside other texts; give one or the other.")
    wanted = wanted or ([] if sys.stdin is None or sys.stdin.isatty() else _of_input())
    if not wanted:
        raise DataError("There is no text to read; give texts as arguments, --file FILE, or '-' for standard input.")
    return wanted


def _of_file(
    file: Path, task: Task, column: str | None, trained: Mapping[str, str | None]
) -> list[str] | list[list[str]]:
    """A text a line; of a file with columns, as training reads them, the texts or, for a tagger, the words."""
    from splade.config.schema import DataConfig
    from splade.data.columns import TEXT_COLUMN, raw_texts
    from splade.data.files import has_columns, read_columns, read_file
    from splade.data.tags import TOKENS_COLUMN, raw_words

    if not has_columns(file):
        if column is not None:
            raise DataError(f"--column {column} was given, but {file} is read as one text a line; leave it out.")
        return _lines(read_file(file, lambda stream, _: stream.read()))
    try:
        columns = read_columns(file, task, DataConfig(tokens_column=column or trained.get("tokens_column")))
    except OtherTaskError as error:
        raise DataError(f"{error.found}; name a file for {task}, or a .txt file with one text a line.") from None
    if not columns:
        return []
    of_words = [trained.get("tokens_column"), TOKENS_COLUMN] if task == "tagging" else []
    usual = [name for name in (*of_words, trained.get("text_column"), TEXT_COLUMN) if name]
    chosen = _choose(columns, usual if column is None else [column], file)
    if task == "tagging" and (chosen in of_words or any(isinstance(value, list) for value in columns[chosen])):
        return raw_words(columns, chosen, str(file))
    return raw_texts(columns, chosen, str(file))


def _choose(columns: Iterable[str], wanted: Sequence[str], file: Path) -> str:
    """The first column wanted that is there."""
    there = list(columns)
    for name in wanted:
        if name in there:
            return name
    names = " or ".join(f"'{name}'" for name in dict.fromkeys(wanted))
    raise DataError(f"{file} has no column {names}, only: {', '.join(there)}; name the one to read with --column.")


def _of_input() -> list[str]:
    """One text a line of UTF-8; what is not is replaced, and that is said."""
    if sys.stdin is None:
        raise DataError("Standard input is closed; give texts as arguments or --file FILE.")
    try:
        content = sys.stdin.buffer.read()
    except OSError as error:
        raise DataError(f"Standard input cannot be read ({error.strerror}); give texts another way.") from None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or content.count(0) > ZEROS * len(content):
        raise DataError(
            "Standard input is not UTF-8 text (it looks like UTF-16, or like no text at all); convert it first, such "
            "as with iconv -f UTF-16 -t UTF-8."
        )
    texts = _lines(content.decode("utf-8-sig", "replace"))
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        _say("Standard input is not UTF-8 throughout; what could not be read is shown as �.")
    return texts


def _lines(content: str) -> list[str]:
    """One text a line. Not `splitlines`, which also cuts at form feeds and other characters that texts may hold."""
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _said_if_none(texts: Texts, origin: str) -> Texts:
    """No texts have no answers; silence alone would look like a fault."""
    if not texts:
        _say(f"{origin} has no texts, so there is nothing to print.")
    return texts


def _say(sentence: str) -> None:
    err.print(sentence, highlight=False, markup=False, soft_wrap=True)
