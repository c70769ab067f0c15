"""A small table of numbers for people who work in Python: readable as it is, and a pandas DataFrame on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from splade.evaluation.figure import Form

if TYPE_CHECKING:
    import pandas

WIDEST = 200
"""Characters of a line when it is printed; headings are broken to fit."""


@dataclass(frozen=True)
class NumberTable:
    """Rows of numbers, each with a name; names may occur twice, as words of a text do."""

    index: str
    """What the rows are."""
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    """Name and numbers, in the order of the columns; None: there is none."""
    forms: Sequence[Form]
    """How the numbers of each column are written."""
    title: str = ""

    def __getitem__(self, column: str) -> list[float | None]:
        """The numbers of a column."""
        place = list(self.columns).index(column)
        return [values[place] for _, values in self.rows]

    def to_dataframe(self) -> pandas.DataFrame:
        """The numbers as a DataFrame, a row a row."""
        import pandas  # slow to load, and needed by this method alone

        values: list[list[Any]] = [list(numbers) for _, numbers in self.rows]
        names = pandas.Index([name for name, _ in self.rows], name=self.index)
        return pandas.DataFrame(values, index=names, columns=list(self.columns), dtype=float)

    def __repr__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=self.title or None, title_justify="left", box=None, pad_edge=False)
        table.add_column(self.index, no_wrap=True)
        for column in self.columns:
            table.add_column(column, justify="right", vertical="bottom")
        for name, values in self.rows:
            cells = [form.show(value) for form, value in zip(self.forms, values, strict=True)]
            table.add_row(name, *cells)
        out = StringIO()
        console = Console(file=out, width=WIDEST, color_system=None, markup=False, highlight=False)
        console.print(table)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
