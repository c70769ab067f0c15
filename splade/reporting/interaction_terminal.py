"""Interactions in the terminal: what deleting each word does, and through which others."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from splade.attribution.interactions import Interactions
from splade.reporting.interaction_rows import interaction_table
from splade.reporting.sums_table import SumRow, sums_table
from splade.utils.one_line import one_line

HEADINGS = ("without", "logit falls by", "= itself", "+ through other words")


def print_interactions(interactions: Interactions, console: Console) -> None:
    """Print a row a word that matters; the numbers of a row add up as printed."""
    table = interaction_table(interactions)
    if not table.rows:
        console.print(Text("Deleting a word changes nothing."))
    else:
        console.print(Text(f"When a word is deleted, the logit of {one_line(table.target)} changes:"))
        rows = [
            SumRow(
                [row.name, row.effect, row.own],
                [(one.name, one.printed) for one in row.through],
                f"(then {row.then})" if row.then else "",
            )
            for row in table.rows
        ]
        console.print(sums_table(HEADINGS, rows, console))
    for note in table.notes:
        console.print(Text(one_line(note)))
