"""The figures of `results.json` as a table in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from splade.evaluation.figure import Results
from splade.reporting.sections import ShownTable, brief_figures, sections


def print_results(results: Results, console: Console) -> None:
    """The figures that were measured, the tables that are short enough, and the notes."""
    table = Table(title=results.get("experiment_name"), show_header=False)
    for figure in brief_figures(results):
        beside = f"  ({figure.beside})" if figure.beside else ""
        table.add_row(escape(figure.title), escape(figure.value + beside))
    tables = [shown for section in sections(results) for shown in section.tables if shown.brief]
    for shown in tables:
        if not shown.grid.brief:
            _add_brief(table, shown)
    console.print(table)
    for shown in tables:
        if shown.grid.brief:
            console.print(_apart(shown))
    for note in results.get("notes", []):
        console.print(f"Note: {note}", highlight=False, markup=False, soft_wrap=True)


def _add_brief(table: Table, shown: ShownTable) -> None:
    """The first rows of a table, a line each: its name, and each number after its heading."""
    rows = shown.grid.rows[: min(shown.brief, shown.grid.shown or shown.brief)]
    for row in rows:
        named = zip(shown.grid.columns[1:], row[1:], strict=True)
        table.add_row(escape(row[0].text), escape(", ".join(f"{name} {cell.text}" for name, cell in named)))
    if rows and len(rows) < len(shown.grid.rows):
        table.add_row("", f"and {len(shown.grid.rows) - len(rows)} more in the report")


def _apart(shown: ShownTable) -> Table:
    """A table too wide for lines, with the columns that matter most."""
    places = [n for n, column in enumerate(shown.grid.columns) if n == 0 or column in shown.grid.brief]
    table = Table(title=shown.title)
    for n in places:
        table.add_column(escape(shown.grid.columns[n]), justify="right" if n else "left")
    for row in shown.grid.rows[: shown.brief]:
        table.add_row(*(escape(row[n].text) for n in places))
    return table
