"""The texts a command is given: as arguments, in a file, or on standard input."""

from __future__ import annotations

import os
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from splade.cli.console import say
from splade.errors import DataError, OtherTaskError

if TYPE_CHECKING:
    from splade.config.schema import Task

LONGEST_NAME = 4096  # characters of a path

Texts = TypeVar("Texts", bound=Sized)

ZEROS = 0.25
"""Share of zero bytes from which input is no text: of UTF-16, nearly half are."""


def read_texts(
    texts: Iterable[str] | None,
    file: Path | None,
    task: Task,
    column: str | None = None,
    trained: Mapping[str, str | None] | None = None,
    encoding: str | None = None,
) -> list[str] | list[list[str]]:
    """Texts of the arguments, of a file, or of standard input; for a tagger also lists of words, from a file.

    `column`: the one of a file to read. `trained`: the settings of `data` that the model was trained with, where its
    own column has a name. `encoding`: that of a file which does not tell by itself.
    """
    wanted = list(texts or [])
    for option, value in (("--column", column), ("--encoding", encoding)):
        if value is not None and file is None:
            raise DataError(f"{option} {value} was given without a --file to read; name the file.")
    if file is not None:
        if wanted:
            raise DataError("Both texts and --file were given; give one of them.")
        return _said_if_none(_of_file(file, task, column, trained or {}, encoding), f"The file {file}")
    if wanted == ["-"]:
        return _said_if_none(_of_input(), "Standard input")
    if "-" in wanted:
        raise DataError("'-' (standard input) was given beside other texts; give one or the other.")
    wanted = wanted or ([] if sys.stdin is None or sys.stdin.isatty() else _of_input())
    for text in wanted[:1] if len(wanted) == 1 and texts else []:
        if len(text) < LONGEST_NAME and "\0" not in text and os.path.isfile(text):
            say(f"'{text}' was read as a text, and there is a file of that name; to read the file, give --file {text}.")
    if not wanted:
        raise DataError("There is no text to read; give texts as arguments, --file FILE, or '-' for standard input.")
    return wanted


def _of_file(
    file: Path, task: Task, column: str | None, trained: Mapping[str, str | None], encoding: str | None
) -> list[str] | list[list[str]]:
    """A text a line; of a file with columns, as training reads them, the texts or, for a tagger, the words."""
    from splade.config.load import load_config  # these load numpy and pydantic, which no --help needs
    from splade.data.files import has_columns, read_file, read_table
    from splade.data.tasks import TASK_DATA

    settings = {"tokens_column": column or trained.get("tokens_column"), "encoding": encoding}
    data = load_config(base={"data": settings}).data
    if not has_columns(file):
        if column is not None:
            raise DataError(f"--column {column} was given, but {file} is read as one text a line; leave it out.")
        return _lines(read_file(file, lambda stream, _: stream.read(), data.encoding))
    try:
        table = read_table(file, task, data)
    except OtherTaskError as error:
        raise DataError(f"{error.found}; name a file for {task}, or a .txt file with one text a line.") from None
    for note in table.notes:
        say(note)
    if not table.columns:
        return []
    texts, notes = TASK_DATA.get(task).unlabelled(table, column, trained)
    for note in notes:
        say(note)
    return texts


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
        say("Standard input is not UTF-8 throughout; what could not be read is shown as �.")
    return texts


def _lines(content: str) -> list[str]:
    """One text a line. Not `splitlines`, which also cuts at form feeds and other characters that texts may hold."""
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _said_if_none(texts: Texts, origin: str) -> Texts:
    """No texts have no answers; silence alone would look like a fault."""
    if not texts:
        say(f"{origin} has no texts, so there is nothing to print.")
    return texts
