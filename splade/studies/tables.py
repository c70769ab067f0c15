"""Rows of a study as a table: on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.studies.intervals import METHOD
from splade.studies.summary import Column, Row
from splade.utils.atomic import write_text

Cells = list[list[str]]

BORDER = 3
"""Cells a column needs beside its content."""
NAME = 1
"""The column of names."""
SMALLEST = 3
"""Columns shown however narrow the terminal: number, name and the first figure."""


def cells_of(rows: Sequence[Row], figures: Sequence[Column], first: str) -> tuple[list[str], Cells]:
    """Headings and cells; the first column numbers the rows as the plots do."""
    headings = ["", first, *(figure.heading for figure in figures)]
    cells = [
        [str(number), row.name, *(figure.show(row.figures.get(figure.key)) for figure in figures)]
        for number, row in enumerate(rows, 1)
    ]
    return headings, cells


def leave_table(
    folder: Path, console: Console, title: str, headings: Sequence[str], cells: Cells, notes: Sequence[str]
) -> None:
    """Print the table and what a reader should know of it, and write both to `table.md`."""
    print_table(console, title, headings, cells, notes)
    text = markdown_table(headings, cells) + "".join(f"\n{note}\n" for note in notes)
    write_text(folder / "table.md", text)


def print_table(console: Console, title: str, headings: Sequence[str], cells: Cells, notes: Sequence[str] = ()) -> None:
    """The table, and what a reader should know of it. Columns the terminal has no room for are only in `table.md`."""
    widths = _widths(headings, cells, console.width)
    shown = len(widths)
    table = Table(title=Text(title, style="table.title"))
    for place, (heading, width) in enumerate(zip(headings, widths, strict=False)):
        # A width of its own, not a least one: Rich fits columns first and then raises them again to the least.
        table.add_column(Text(heading), justify="left" if place == NAME else "right", width=width, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row[:shown]))
    console.print(table)
    if shown < len(headings):
        left_out = ", ".join(headings[shown:])
        console.print(f"No room here, but in table.md: {left_out}.", highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _widths(headings: Sequence[str], cells: Cells, room: int) -> list[int]:
    """The widths of the columns that fit side by side. A heading may be broken between words, a figure may not; a name
    only where nothing else could stand beside it."""
    widths = [
        max(cell_len(word) for word in [*heading.split(), *(row[place] for row in cells), ""])
        for place, heading in enumerate(headings)
    ]
    while len(widths) > SMALLEST and _width(widths) > room:
        widths.pop()
    widths[NAME] = max(1, widths[NAME] - max(0, _width(widths) - room))
    for _ in range(room - _width(widths)):  # a spare cell goes to the heading of most lines
        lines = [len(wrap(heading, width)) for heading, width in zip(headings, widths, strict=False)]
        if max(lines) == 1:
            break
        widths[lines.index(max(lines))] += 1
    return widths


def _width(widths: Sequence[int]) -> int:
    """Of a whole table with columns of these widths."""
    return 1 + sum(width + BORDER for width in widths)


def markdown_table(headings: Sequence[str], cells: Cells) -> str:
    """The same in Markdown."""
    lines = [headings, ["---:" if place != NAME else "---" for place in range(len(headings))], *cells]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def interval_note(rows: Sequence[Row]) -> list[str]:
    """How intervals were made, if there are any."""
    return [METHOD] if any(value.half is not None for row in rows for value in row.figures.values()) else []
