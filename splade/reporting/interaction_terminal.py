"""Interactions in the terminal: what deleting each word does, and through which others."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.attribution.interactions import Interactions
from splade.reporting.interaction_rows import InteractionTable, interaction_table
from splade.reporting.terminal import GAP, MAX_WORD_WIDTH, SMALLEST_ROOM, broken_lines, colour
from splade.utils.one_line import one_line

HEADINGS = ("without", "logit falls by", "= itself", "+ through other words")


def print_interactions(interactions: Interactions, console: Console) -> None:
    """Print a row a word that matters; the numbers of a row add up as printed."""
    table = interaction_table(interactions)
    if table.rows:
        console.print(Text(f"When a word is deleted, the logit of {one_line(table.target)} changes:"))
        console.print(_table(table, console))
    else:
        console.print(Text("Deleting a word changes nothing."))
    for note in table.notes:
        console.print(Text(one_line(note)))


def _table(shown: InteractionTable, console: Console) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    columns = zip(*((one_line(row.name), row.effect, row.own) for row in shown.rows), strict=True)
    widths = [
        min(MAX_WORD_WIDTH, max(cell_len(text) for text in (heading, *column)))
        for heading, column in zip(HEADINGS, columns, strict=False)
    ]
    for n, width in enumerate(widths):
        table.add_column(
            HEADINGS[n],
            justify="right" if n else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=width,
            max_width=width,
        )
    table.add_column(HEADINGS[-1], no_wrap=True, overflow="ellipsis")
    room = max(SMALLEST_ROOM, console.width - sum(widths) - GAP * len(widths))
    for row in shown.rows:
        summands = [f"{one_line(one.name)} {one.printed}" for one in row.through]
        then = [] if row.then is None else [f"(then predicted: {one_line(row.then)})"]
        table.add_row(
            Text(one_line(row.name)),
            Text(row.effect, style=colour(row.source.effect)),
            Text(row.own),
            Text("\n".join([*broken_lines(summands, room), *then])),
        )
    return table
