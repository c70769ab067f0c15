"""Rows of delimited text, with quotes that do not mean what CSV takes them for noticed.

A quote at the start of a field opens text that may hold delimiters and line breaks, up to the closing quote. In a file
that nobody quoted it is a character like others, and reading on to the next such quote would make one row of many.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from splade.errors import DataError

LONGEST_FIELD = 2**31 - 1  # the csv module stops at 131,072 characters by default; whole books are texts too
FEWEST_CERTAIN = 10  # rows on one line by which it can be told what stands in a column

LINE_END = re.compile(r"\r\n|\r|\n")
WHOLLY_QUOTED = re.compile(r'"(?:[^"]|"")*"')
WHOLE_NUMBER = re.compile(r"0|[1-9]\d*")
DIGIT, LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Row:
    """The fields of a row, and the lines it stands on, from 1."""

    fields: list[str]
    first: int
    last: int


class MisquotedError(Exception):
    """Quotes cannot be read as CSV has them."""


def read_rows(text: str, path: Path, delimiter: str) -> tuple[list[Row], list[str]]:
    """Rows as CSV has them or, where its quotes would make one row of many, a row a line; and a sentence that says so.

    If the quotes are certainly wrong and lines are not rows, either, the file is refused; if they are doubtful and
    lines are no rows, the sentence says which to check.
    """
    literally = f"{path}: each line was read as a row and quotes as ordinary characters, since"
    try:
        rows = quoted_rows(text, delimiter)
    except MisquotedError as error:
        by_line = rows_by_line(text, delimiter)
        if not _even(by_line):
            raise DataError(
                f"The file {path} has {error}; close it, write quotes inside of quotes twice, or remove it."
            ) from None
        return by_line, [f"{literally} it has {error}."]
    if len(rows) < 2 or len(rows[0].fields) < 2 or all(row.first == row.last for row in rows):
        return rows, []
    by_line = rows_by_line(text, delimiter)
    suspects = list(_like_rows(rows, by_line))
    if not suspects:
        return rows, []
    known = _values(rows, by_line)
    swallowed = next((row for row, lines in suspects if _are_rows(row, lines, known)), None)
    if swallowed is None and not _even(by_line):  # quoted texts of several lines, as there are many
        return rows, []
    doubted = swallowed or suspects[0][0]
    where = f"the quote that opens a field in line {doubted.first} closes only in line {doubted.last}"
    if swallowed and _even(by_line):
        return by_line, [f"{literally} {where}, around what look like rows."]
    return rows, [f"{path}: {where}, around what may be rows; they were read as one, so check these lines."]


def lines_of(text: str) -> Iterator[str]:
    """Lines with their ends. Not ``splitlines``, which also cuts at form feeds and other characters of texts."""
    start = 0
    for end in LINE_END.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    if start < len(text):
        yield text[start:]


def csv_reader(lines: Iterable[str], delimiter: str, strict: bool = False) -> Any:
    """Rows of fields as CSV has them, however long a field is."""
    csv.field_size_limit(LONGEST_FIELD)
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def quoted_rows(text: str, delimiter: str) -> list[Row]:
    """Rows as CSV has them; blank lines are none."""
    reader = csv_reader(lines_of(text), delimiter, strict=True)
    rows = []
    line = 1
    try:
        for fields in reader:
            if fields:
                rows.append(Row(fields, line, reader.line_num))
            line = reader.line_num + 1
    except csv.Error as error:
        at_end = "end of data" in str(error)
        fault = "is never closed" if at_end else f"closes in line {reader.line_num} before the end of the field"
        raise MisquotedError(f"a quote that opens a field in line {line} and {fault}") from None
    return rows


def rows_by_line(text: str, delimiter: str) -> list[Row]:
    """Each line as a row; a field that is quoted as a whole loses its quotes."""
    rows = []
    for number, line in enumerate(lines_of(text), start=1):
        if line := line.rstrip("\r\n"):
            fields = line.split(delimiter)
            if '"' in line:
                fields = [f[1:-1].replace('""', '"') if WHOLLY_QUOTED.fullmatch(f) else f for f in fields]
            rows.append(Row(fields, number, number))
    return rows


def _even(rows: Sequence[Row]) -> bool:
    return len({len(row.fields) for row in rows}) == 1


def _like_rows(rows: Sequence[Row], by_line: Sequence[Row]) -> Iterator[tuple[Row, list[list[str]]]]:
    """Rows of several lines each of which has as many fields as a row, and these fields."""
    width = len(rows[0].fields)
    fields = {row.first: row.fields for row in by_line}
    for row in rows:
        lines = [fields.get(line, []) for line in range(row.first, row.last + 1)] if row.first < row.last else []
        if lines and all(len(line) == width for line in lines):
            yield row, lines


def _are_rows(row: Row, lines: Sequence[Sequence[str]], known: Sequence[Values]) -> bool:
    """Whether each line has a value that its column has elsewhere, too, outside of the field that is in doubt."""
    width = len(row.fields)
    quoted = next(place for place, field in enumerate(row.fields) if LINE_END.search(field))
    for number, line in enumerate(lines):
        before = range(quoted if number else 0)  # on the first line these are certain, on the last those after
        after = range(quoted + 1, width if number < len(lines) - 1 else 0)
        places = [*before, *after]
        if places and not any(known[place].has(line[place]) for place in places):
            return False
    return True


class Values:
    """What a column has."""

    def __init__(self, fields: Sequence[str], often: int) -> None:
        """``often``: how many times a value must stand there."""
        self._values = {field for field, count in Counter(fields).items() if count >= often and field.strip()}
        shape, count = Counter(map(_shape, fields)).most_common(1)[0]
        self._shape = shape if "0" in shape and count > len(fields) / 2 else None
        # "1,000" at the end of a line must not pass for a rating.
        self._digits = max(map(len, fields)) if all(WHOLE_NUMBER.fullmatch(field) for field in fields) else 0

    def has(self, field: str) -> bool:
        """Whether the value stands there, or is a number where there are only such, or of one shape (ids, dates)."""
        number = len(field) <= self._digits and WHOLE_NUMBER.fullmatch(field)
        return field in self._values or bool(number) or _shape(field) == self._shape


def _values(rows: Sequence[Row], by_line: Sequence[Row]) -> list[Values]:
    """The columns of the rows on one line; where these are few, those of all lines, with what stands there twice."""
    width = len(rows[0].fields)
    certain = [row.fields for row in rows[1:] if row.first == row.last and len(row.fields) == width]
    if len(certain) >= FEWEST_CERTAIN:
        return [Values(column, often=1) for column in zip(*certain, strict=True)]
    every = [row.fields for row in by_line[1:] if len(row.fields) == width]
    return [Values(column, often=2) for column in zip(*every, strict=True)]


def _shape(field: str) -> str:
    return LETTER.sub("a", DIGIT.sub("0", field))
