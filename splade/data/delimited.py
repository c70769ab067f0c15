"""CSV and TSV: the delimiter is found, the header names the columns."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from splade.data.column_names import column_names
from splade.data.quoting import csv_reader, lines_of, read_rows
from splade.data.types import Columns
from splade.errors import DataError

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "pipes"}
USUAL = {"csv": ",", "tsv": "\t"}
SAMPLED_LINES = 100  # by whose fields the delimiter is found
FEWEST_ALIKE = 0.8  # share of the sampled rows that must have as many fields as the header

SEPARATOR_LINE = re.compile(r"sep=([^\r\n])(?:\r\n|\r|\n|$)")  # by which Excel is told the delimiter


def read_delimited(text: str, path: Path, kind: str, delimiter: str | None = None) -> tuple[Columns, list[str]]:
    """Columns by the names in the header, and sentences about what was decided; ``delimiter``: null to find it."""
    notes = []
    if told := SEPARATOR_LINE.match(text):
        delimiter, text = delimiter or told[1], text[told.end() :]
    if delimiter is None:
        delimiter = find_delimiter(text, USUAL[kind])
        if delimiter != USUAL[kind]:
            notes.append(f"{path}: {DELIMITERS[delimiter]} part the fields (data.delimiter can say otherwise).")
    rows, doubts = read_rows(text, path, delimiter)
    if not rows:
        return {}, notes
    header = column_names(rows[0].fields, f"The file {path}")
    for number, row in enumerate(rows[1:], start=1):
        if len(row.fields) != len(header):
            raise DataError(
                f"The file {path} has {len(row.fields)} fields in row {number} (line {row.first}), but its header "
                f"names {len(header)}; quote fields that hold the delimiter or a line break."
            )
    columns: Columns = {name: [row.fields[place] for row in rows[1:]] for place, name in enumerate(header)}
    return columns, [*notes, *doubts]


def find_delimiter(text: str, usual: str) -> str:
    """The delimiter by which the first rows have as many fields as the header, and that two or more; or ``usual``."""
    sample = list(islice(lines_of(text), SAMPLED_LINES))
    alike = {delimiter: _alike(sample, delimiter) for delimiter in (usual, *DELIMITERS)}
    best = max(alike, key=lambda delimiter: alike[delimiter])  # of equals the first: the usual one
    return best if alike[best] >= FEWEST_ALIKE else usual


def _alike(lines: list[str], delimiter: str) -> float:
    """The share of rows with as many fields as the header; 0 if that has but one."""
    widths = [len(row) for row in csv_reader(lines, delimiter) if row]
    if not widths or widths[0] < 2:
        return 0.0
    return sum(width == widths[0] for width in widths) / len(widths)
