"""A small table of numbers for people who work in Python: readable as it is, and a pandas DataFrame on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from splade.errors import DataError, listed, nearest
from splade.evaluation.figure import Form, is_number

if TYPE_CHECKING:
    import pandas

WIDEST = 200
"""Characters of a line when it is printed; headings are broken to fit."""

Numbers = Mapping[str, float | None]
"""The numbers of a row, by the names of their columns; None, or no such name: there is none."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, and how it is printed."""

    name: str
    title: str
    """Its heading when it is printed."""
    form: Form
    interval: tuple[str, str] | None = None
    """Names of two further columns, the ends of its 95 % interval, which are printed below the number."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.name, *(self.interval or ())


@dataclass(frozen=True)
class NumberRow:
    """Numbers of one thing."""

    name: str
    """Two rows may have the same, as words of a text do."""
    numbers: Numbers
    title: str = ""
    """What it is called when it is printed; empty: by its name."""


@dataclass(frozen=True)
class NumberTable:
    """Rows of numbers, each with a name: `table["deletion.tau"]` is a column, `table.to_dataframe()` all of them."""

    index: str
    """What the rows are."""
    shown: Sequence[NumberColumn]
    rows: Sequence[NumberRow]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences on what a reader should not miss."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns, the ends of intervals among them."""
        return [name for column in self.shown for name in column.names]

    @property
    def names(self) -> list[str]:
        """Names of the rows."""
        return [row.name for row in self.rows]

    def __getitem__(self, column: str) -> list[float | None]:
        """The numbers of a column."""
        if column not in self.columns:
            raise DataError(
                f"The table has no column {column!r:.60}; its columns are: {listed(self.columns)}."
                f"{nearest(str(column), self.columns)}"
            )
        return [row.numbers.get(column) for row in self.rows]

    def to_dataframe(self) -> pandas.DataFrame:
        """The numbers as a DataFrame, a row a row."""
        import pandas  # slow to load, and needed by this method alone

        values: list[list[Any]] = [[row.numbers.get(column) for column in self.columns] for row in self.rows]
        names = pandas.Index(self.names, name=self.index)
        return pandas.DataFrame(values, index=names, columns=self.columns, dtype=float)

    def __repr__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column(self.index, no_wrap=True)
        for column in self.shown:
            table.add_column(column.title, justify="right", vertical="bottom")
        for row in self.rows:
            table.add_row(row.title or row.name, *_cells(self.shown, row.numbers))
        out = StringIO()
        console = Console(file=out, width=WIDEST, color_system=None, markup=False, highlight=False)
        if self.title:  # not as the table's own, which would be broken to the table's width
            console.print(self.title)
        console.print(table)
        for note in self.notes:
            console.print(note)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cells(columns: Sequence[NumberColumn], numbers: Numbers) -> list[str]:
    """The numbers of a row, and where there are intervals, these on a line below."""
    intervals = [_interval(column, numbers) for column in columns]
    shown = [column.form.show(numbers.get(column.name)) for column in columns]
    return [f"{number}\n{ends}" for number, ends in zip(shown, intervals, strict=True)] if any(intervals) else shown


def _interval(column: NumberColumn, numbers: Numbers) -> str:
    ends = [numbers.get(name) for name in column.interval or ()]
    found = [column.form.number(end) for end in ends if is_number(end)]
    return " to ".join(found) if len(found) == 2 else ""
