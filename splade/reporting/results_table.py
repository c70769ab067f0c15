"""The figures of `results.json` as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from splade.evaluation.figure import Cell, Grid, Results
from splade.reporting.sections import ShownTable, brief_figures, sections

LONGEST_LINE = 100
"""Characters of a row's numbers after their headings, from more of which on a table is shown as one."""

GAP = 2
"""Cells between two columns."""


def print_results(results: Results, console: Console) -> None:
    """The figures that were measured, the tables that are short enough, and the notes."""
    table = Table(title=results.get("experiment_name"), show_header=False)
    for figure in brief_figures(results):
        beside = f"  ({figure.beside})" if figure.beside else ""
        table.add_row(escape(figure.title), escape(figure.value + beside))
    tables = [shown for section in sections(results) for shown in section.tables if shown.brief]
    for shown in tables:
        if not _is_apart(shown.grid):
            _add_brief(table, shown)
    if table.row_count:
        console.print(table)
    for shown in tables:
        if _is_apart(shown.grid):
            console.print()
            _print_apart(shown, console)
    for note in results.get("notes", []):
        console.print(f"Note: {note}", highlight=False, markup=False, soft_wrap=True)


def _is_apart(grid: Grid) -> bool:
    """Whether a table is shown as one, since a line a row would be too long to read."""
    return bool(grid.brief) or any(len(_line(grid, row)) > LONGEST_LINE for row in grid.rows)


def _line(grid: Grid, row: Sequence[Cell]) -> str:
    """The numbers of a row, each after its heading."""
    return ", ".join(f"{name} {cell.text}" for name, cell in zip(grid.columns[1:], row[1:], strict=True))


def _add_brief(table: Table, shown: ShownTable) -> None:
    """The first rows of a table, a line each: its name, and each number after its heading."""
    rows = shown.grid.rows[: min(shown.brief, shown.grid.shown or shown.brief)]
    for row in rows:
        table.add_row(escape(row[0].text), escape(_line(shown.grid, row)))
    if rows and len(rows) < len(shown.grid.rows):
        table.add_row("", f"and {len(shown.grid.rows) - len(rows)} more in the report")


def _print_apart(shown: ShownTable, console: Console) -> None:
    """A table of its own, with the columns that matter most and, of these, the first that the terminal has room for."""
    grid, rows = shown.grid, shown.grid.rows[: shown.brief]
    wanted = [n for n, column in enumerate(grid.columns) if n == 0 or not grid.brief or column in grid.brief]
    widths = {n: _width(grid, rows, n) for n in wanted}
    places = _fitting(widths, console.width)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)  # lines would take up room
    for n in places:
        justify: JustifyMethod = "right" if n else "left"
        table.add_column(escape(grid.columns[n]), justify=justify, vertical="bottom", width=widths[n])
    for row in rows:
        table.add_row(*(escape(row[n].text) for n in places))
    console.print(shown.title, style="bold", highlight=False, markup=False)
    console.print(table)
    if left := len(grid.columns) - len(places):
        console.print(f"In the results: {left} more column{'s' * (left > 1)}.", style="dim", highlight=False)


def _width(grid: Grid, rows: Sequence[Sequence[Cell]], place: int) -> int:
    """Of a column whose cells are whole, and whose heading is broken between words."""
    return max(map(cell_len, [*grid.columns[place].split(), *(row[place].text for row in rows)]), default=0)


def _fitting(widths: Mapping[int, int], room: int) -> list[int]:
    """The first columns that fit into a line; the names of the rows and one more in any case."""
    fitting: list[int] = []
    for place, width in widths.items():
        room -= width
        if room < 0 and len(fitting) > 1:
            break
        fitting.append(place)
        room -= GAP
    return fitting
