"""Rows of a study as a table: on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from splade.studies.intervals import METHOD
from splade.studies.summary import Figure, Row

Cells = list[list[str]]

BORDER = 3
"""Cells a column needs beside its content."""
SMALLEST = 3
"""Columns shown however narrow the terminal: number, name and the first figure."""


def cells_of(rows: Sequence[Row], figures: Sequence[Figure], first: str) -> tuple[list[str], Cells]:
    """Headings and cells; the first column numbers the rows as the plots do."""
    headings = ["", first, *(figure.heading for figure in figures)]
    cells = [
        [str(number), row.name, *(figure.show(row.figures.get(figure.key)) for figure in figures)]
        for number, row in enumerate(rows, 1)
    ]
    return headings, cells


def print_table(console: Console, title: str, headings: Sequence[str], cells: Cells, notes: Sequence[str] = ()) -> None:
    """The table, and what a reader should know of it. Columns the terminal has no room for are only in `table.md`."""
    shown = _fitting(headings, cells, console.width)
    table = Table(title=title)
    for place, heading in enumerate(headings[:shown]):
        table.add_column(heading, justify="left" if place == 1 else "right", no_wrap=False)
    for row in cells:
        table.add_row(*row[:shown])
    console.print(table)
    if shown < len(headings):
        left_out = ", ".join(headings[shown:])
        console.print(f"No room here, but in table.md: {left_out}.", highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _fitting(headings: Sequence[str], cells: Cells, width: int) -> int:
    """How many columns fit side by side; a heading may be broken between words, a figure may not."""
    used = 1
    for place, heading in enumerate(headings):
        words = [*heading.split(), *(row[place] for row in cells), ""]
        used += max(cell_len(word) for word in words) + BORDER
        if used > width:
            return max(place, SMALLEST)
    return len(headings)


def markdown_table(headings: Sequence[str], cells: Cells) -> str:
    """The same in Markdown."""
    lines = [headings, ["---:" if place != 1 else "---" for place in range(len(headings))], *cells]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def interval_note(rows: Sequence[Row]) -> list[str]:
    """How intervals were made, if there are any."""
    return [METHOD] if any(value.half is not None for row in rows for value in row.figures.values()) else []
