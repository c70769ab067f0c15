"""A table of sums in the terminal: a row a sum, its summands in a last column that is broken between them only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.reporting.terminal import GAP, MAX_WORD_WIDTH
from splade.utils.one_line import one_line

SMALLEST_ROOM = 24
"""Cells that a sum gets however narrow the terminal."""

NUMBERS = ("", "sure", "logit", "logit falls by", "= itself")
"""Headings of columns that stand at the right."""

WORDS = ("word", "without")
"""Headings of columns of words of a text, of which a long one is cut."""


@dataclass(frozen=True)
class SumRow:
    """A line of the table."""

    cells: list[str]
    """What stands before the sum."""
    summands: list[tuple[str, str]]
    """Each by its name, with its number as printed."""
    remark: str = ""
    """What stands on a line of its own below."""


def sums_table(headings: Sequence[str], rows: Sequence[SumRow], console: Console) -> Table:
    """The rows under `headings`, of which the last is that of the sums."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    columns = zip(*([one_line(cell) for cell in row.cells] for row in rows), strict=True)
    widths = []
    for heading, column in zip(headings, columns, strict=False):
        width = max(cell_len(text) for text in (heading, *column))
        widths.append(min(width, MAX_WORD_WIDTH) if heading in WORDS else width)
    for heading, width in zip(headings, widths, strict=False):
        table.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=width,
            max_width=width,
        )
    table.add_column(headings[-1], no_wrap=True, overflow="ellipsis")
    room = max(SMALLEST_ROOM, console.width - sum(widths) - GAP * len(widths))
    for row in rows:
        lines = _lines([f"{one_line(name)} {printed}" for name, printed in row.summands], room)
        lines += [one_line(row.remark)] if row.remark else []
        table.add_row(*(Text(one_line(cell)) for cell in row.cells), Text("\n".join(lines)))
    return table


def _lines(summands: Sequence[str], room: int) -> list[str]:
    """Broken between summands only: a name and its number belong together."""
    lines = list(summands[:1])
    for summand in summands[1:]:
        if cell_len(f"{lines[-1]}, {summand}") < room:
            lines[-1] += f", {summand}"
        else:
            lines[-1] += ","
            lines.append(summand)
    return lines
