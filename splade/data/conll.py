"""Column files of tagged sentences, as the CoNLL tasks wrote them: a line a word, a blank line after a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from splade.data.schemes import split_tag
from splade.data.types import Columns
from splade.errors import DataError

DOCUMENT = "-DOCSTART-"
BLANK = " \t\r\n"  # not all that str.split() takes for white space: some corpora have a no-break space for a word
NOWHERE = 2**31  # the place of a column 0
SHOWN_LINE = 40  # characters of a line in a message


def read_conll(lines: Iterable[str], path: Path, words: str | None = None, tags: str | None = None) -> Columns:
    """The first column of each line is the word, the last its tag; columns are parted by tabs, else by spaces.

    Where ``words`` or ``tags`` is a number, it is that column instead, counted from 1, and is called by its number.
    A line that starts a document ends a sentence too. A comment is a line before a sentence that starts with ``#`` and
    does not end in a tag (``# O`` is a word). All words have as many columns as the first: where the last is missing,
    the one before must not be taken for a tag. A file of one column has words alone, without ``tags``.
    """
    word_name, word_place = _column(words, "tokens", 0)
    tag_name, tag_place = _column(tags, "tags", -1)
    sentences: list[list[str]] = [[]]
    sentence_tags: list[list[str]] = [[]]
    columns = first = 0  # of the first word, and its line
    for number, line in enumerate(lines, start=1):
        fields = _fields(line)
        line, tag = line.strip(BLANK), fields[tag_place] if tag_place < len(fields) else ""
        if not line or fields[0] == DOCUMENT:
            if sentences[-1]:
                sentences.append([])
                sentence_tags.append([])
            continue
        bare = len(fields) == columns == 1  # a word, as the others are without a tag
        if fields[0].startswith("#") and not sentences[-1] and split_tag(tag) is None and not bare:
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
        for setting, name, place in (("tokens_column", word_name, word_place), ("tags_column", tag_name, tag_place)):
            if place >= columns:
                raise DataError(f"The file {path} has no column {name}, only 1 to {columns}; correct data.{setting}.")
        word = fields[word_place]
        if not word or not tag:
            raise DataError(
                f"The file {path} has no {'tag' if word else 'word'} in line {number} ('{line[:SHOWN_LINE]}'); "
                "complete the line (a blank line ends a sentence)."
            )
        sentences[-1].append(word)
        sentence_tags[-1].append(tag)
    if not sentences[-1]:
        sentences.pop()
        sentence_tags.pop()
    if columns > 2:
        _check_words(sentences, word_place, path)
    named: Columns = {word_name: list[object](sentences)}
    return named if columns == 1 else named | {tag_name: list[object](sentence_tags)}


def _check_words(sentences: list[list[str]], place: int, path: Path) -> None:
    """Refuse the numbers of words in the place of the words."""
    if any(len(words) > 2 for words in sentences) and all(_counts(words) for words in sentences):
        raise DataError(
            f"The file {path} numbers the words of each sentence in column {place + 1}, where the words "
            "themselves were expected; remove that column, or name theirs with data.tokens_column."
        )


def _column(chosen: str | None, usual: str, place: int) -> tuple[str, int]:
    """What a column is called, and its place in a line."""
    if chosen is None or not chosen.isdecimal():
        return usual, place
    return chosen, int(chosen) - 1 if int(chosen) else NOWHERE


def _fields(line: str) -> list[str]:
    """Columns parted by tabs, of which one may be empty, else by any number of spaces."""
    if "\t" in line.strip(BLANK):
        return [field.strip(BLANK) for field in line.rstrip("\r\n").split("\t")]
    return [field for field in line.strip(BLANK).split(" ") if field] or [""]


def _counts(words: list[str]) -> bool:
    return words == [str(number) for number in range(1, len(words) + 1)]
