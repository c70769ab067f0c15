"""Tables on terminals of any width: never wider than the terminal, no figure cut, what is left out is named."""

from __future__ import annotations

import io
import random
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from splade.studies import long_context, sota
from splade.studies.linear import VECTORIZERS
from splade.studies.summary import Column, Row, columns
from splade.studies.tables import SMALLEST, Cells, cells_of, print_table

LOSSES = ("completeness", "separation", "sparsity", "frequency")
OF_CLASSIFIERS = tuple(columns("classification"))
TABLES: dict[str, tuple[list[str], tuple[Column, ...]]] = {
    "multi_dataset": (["sst2", "ag_news", "imdb"], OF_CLASSIFIERS),
    "ablation": (["cajt", *(f"without {loss}" for loss in LOSSES), "baseline"], OF_CLASSIFIERS),
    "bcos_ablation": (["relu_mlp", "tied_mlp", "bcos, 2 layers", "bcos, 3 layers"], OF_CLASSIFIERS),
    "sota_comparison": ([sota.OWN, sota.DENSE, *VECTORIZERS], sota.COLUMNS),
    "long_context": ([f"{n} tokens, middle" for n in (64, 512, 4096)], long_context.COLUMNS),
}


def table(name: str, seeds: int) -> tuple[list[str], Cells]:
    """Headings and cells of a study with made-up figures of their usual sizes."""
    chance = random.Random(name)
    names, figures = TABLES[name]
    sizes = {"%": 1.0, "MB": 3000.0, "s": 2.0, "": 40.0}
    rows = [
        Row(each, {f.key: f.over([chance.random() * sizes[f.form.unit] for _ in range(seeds)]) for f in figures}, {})
        for each in names
    ]
    return cells_of(rows, figures, "variation")


def printed(headings: list[str], cells: Cells, width: int) -> tuple[list[str], str]:
    """The lines of the table, and what is said below it."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_table(console, "a study", headings, cells)
    assert isinstance(console.file, io.StringIO)
    drawn, _, below = console.file.getvalue().partition("No room here")
    return drawn.splitlines(), below


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", TABLES)
def test_no_width_crops_a_table(name: str, seeds: int) -> None:
    headings, cells = table(name, seeds)
    for width in range(60, 260, 11):
        lines, below = printed(headings, cells, width)
        assert max(map(cell_len, lines)) <= width
        assert all(line.rstrip().endswith(tuple("┓┩│┃┤┘")) for line in lines[1:]), width
        rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if re.match(r"│ +\d", line)]
        shown = len(rows[0])
        assert rows == [row[:shown] for row in cells], width
        assert all(heading in below for heading in headings[shown:]) and bool(below) == (shown < len(headings))


def test_a_very_narrow_terminal_breaks_names_and_no_figure() -> None:
    headings, cells = table("sota_comparison", 3)
    for width in range(30, 60, 3):
        lines, below = printed(headings, cells, width)
        assert max(map(cell_len, lines)) <= width
        assert all(row[SMALLEST - 1] in "\n".join(lines) for row in cells) and headings[-1] in below


def test_spare_room_goes_to_headings() -> None:
    """At 160 columns a heading need not be one word a line."""
    lines, _ = printed(*table("sota_comparison", 3), 160)
    assert any("explain milliseconds" in line for line in lines)


def test_names_are_shown_as_they_are_written() -> None:
    lines, _ = printed(["", "variation", "accuracy"], [["1", "[red]a :smile:", "80.0 [70.0, 90.0]"]], 80)
    assert "[red]a :smile:" in lines[-2] and "80.0 [70.0, 90.0]" in lines[-2]
