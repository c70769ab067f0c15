"""Column files of tagged sentences, as the CoNLL tasks wrote them: a line a word, a blank line after a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from splade.data.schemes import split_tag
from splade.data.types import Columns
from splade.errors import DataError

DOCUMENT = "-DOCSTART-"
BLANK = " \t\r\n"  # not all that str.split() takes for white space: some corpora have a no-break space for a word
SHOWN_LINE = 40  # characters of a line in a message


def read_conll(stream: IO[str], path: Path) -> Columns:
    """The first column of each line is the word, the last its tag; columns are parted by tabs, else by spaces.

    A line that starts a document ends a sentence too. A comment is a line before a sentence that starts with ``#`` and
    does not end in a tag (``# O`` is a word). All words have as many columns as the first: where the last is missing,
    the one before must not be taken for a tag. A file of one column has words alone, without ``tags``.
    """
    sentences: list[list[str]] = [[]]
    tags: list[list[str]] = [[]]
    columns = first = 0  # of the first word, and its line
    for number, line in enumerate(stream, start=1):
        fields = _fields(line)
        line, word, tag = line.strip(BLANK), fields[0], fields[-1]
        if not line or word == DOCUMENT:
            if sentences[-1]:
                sentences.append([])
                tags.append([])
            continue
        if word.startswith("#") and not sentences[-1] and split_tag(tag) is None:
            continue
        columns, first = columns or len(fields), first or number
        if len(fields) == 1 and "," in line and (number == first or split_tag(line.rpartition(",")[2]) is not None):
            raise DataError(
                f"The file {path} has '{line[:SHOWN_LINE]}' in line {number}, with a comma where a tab or spaces must "
                "stand between a word and its tag; convert it from CSV to columns."
            )
        if len(fields) == 1 < columns:
            raise DataError(
                f"The file {path} has only '{line[:SHOWN_LINE]}' in line {number}, but a word and its tag were "
                "expected; complete the line (a blank line ends a sentence)."
            )
        if len(fields) != columns:
            raise DataError(
                f"The file {path} has {len(fields)} columns in line {number} ('{line[:SHOWN_LINE]}'), but {columns} in "
                f"line {first}; give every word the same."
            )
        if not word or not tag:
            raise DataError(
                f"The file {path} has no {'tag' if word else 'word'} in line {number} ('{line[:SHOWN_LINE]}'); "
                "complete the line (a blank line ends a sentence)."
            )
        sentences[-1].append(word)
        tags[-1].append(tag)
    if not sentences[-1]:
        sentences.pop()
        tags.pop()
    if columns > 2 and any(len(words) > 2 for words in sentences) and all(_counts(words) for words in sentences):
        raise DataError(
            f"The file {path} numbers the words of each sentence in its first column, where the words themselves were "
            "expected; remove that column."
        )
    found: Columns = {"tokens": list[object](sentences), "tags": list[object](tags)}
    return found if columns != 1 else {"tokens": found["tokens"]}


def _fields(line: str) -> list[str]:
    """Columns parted by tabs, of which one may be empty, else by any number of spaces."""
    if "\t" in line.strip(BLANK):
        return [field.strip(BLANK) for field in line.rstrip("\r\n").split("\t")]
    return [field for field in line.strip(BLANK).split(" ") if field] or [""]


def _counts(words: list[str]) -> bool:
    return words == [str(number) for number in range(1, len(words) + 1)]
