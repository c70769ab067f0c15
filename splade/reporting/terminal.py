"""An explanation in the terminal: the text with its words coloured, then the sum, word by word and token by token."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.attribution.explanation import Explanation, TokenScore, WordScore
from splade.reporting.explained import Row, segments, token_rows, word_rows
from splade.utils.one_line import one_line

TOWARD, AGAINST = "green", "red"

BAR_HALF = 6
"""Cells on each side of a bar's middle: what fits beside words, scores and reasons at 80 columns."""

FAINT_SHARE = 0.1
"""Words below this share of the strongest score are left uncoloured, so that colour points at what matters."""

TOP_TOKENS = 8
"""Most rows of the second table, which only has to name the strongest tokens."""

MAX_WORD_WIDTH = 22
GAP = 2
"""Cells between two columns of a table."""
REASONS = 4


def print_explanation(explanation: Explanation, console: Console, top: int = 12) -> None:
    """Print the prediction and the exact sum behind it; every printed column adds up to its printed logit.

    Args:
        explanation: what to print.
        console: where to; colours and width are its business, and nothing depends on colour alone.
        top: how many words, and tokens, get a row of their own; the others share one.
    """
    console.print(_coloured_text(explanation))
    console.print(_verdict(explanation))
    if explanation.truncated:
        console.print(Text("The text is longer than the model reads: its end has no say.", style="yellow"))
    console.print()
    console.print(_word_table(explanation, console, top))
    if explanation.tokens:
        console.print()
        console.print(token_table(explanation, min(top, TOP_TOKENS)))


def _verdict(explanation: Explanation) -> Text:
    line = Text()
    line.append(one_line(explanation.label), style="bold")
    line.append(f"  {_percent(explanation.probabilities[explanation.label])}")
    if explanation.target != explanation.label:
        line.append("  explained: ")
        line.append(one_line(explanation.target), style="bold")
        line.append(f"  {_percent(explanation.probabilities[explanation.target])}")
    return line


def _coloured_text(explanation: Explanation) -> Text:
    strongest = _largest(explanation)
    line = Text()
    for segment in segments(explanation):
        score = segment.word.score if segment.word else 0.0
        style = _colour(score) if strongest and abs(score) >= FAINT_SHARE * strongest else ""
        if style and abs(score) >= 0.5 * strongest:
            style = f"bold {style}"
        line.append(harmless(segment.text), style=style)
    return line if line.plain.strip() else Text("(empty text)", style="dim")


def _word_table(explanation: Explanation, console: Console, top: int) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    rows = word_rows(explanation, top)
    # Only reasons are left out where the terminal is narrow: a sum needs its numbers whole.
    name = max([*(cell_len(row.name) for row in rows[:-1]), cell_len(f"= {rows[-1].name}")])
    widths = [min(MAX_WORD_WIDTH, name), max(len(row.printed) for row in rows), 2 * BAR_HALF + 1]
    room = console.width - sum(widths) - GAP * len(widths)
    table.add_column("word", min_width=widths[0], max_width=MAX_WORD_WIDTH, no_wrap=True, overflow="ellipsis")
    table.add_column("score", justify="right", no_wrap=True, min_width=widths[1])
    table.add_column("", no_wrap=True, min_width=widths[2])
    table.add_column("because of", overflow="ellipsis", no_wrap=True)
    largest = max((abs(row.score) for row in rows[:-1]), default=0.0)
    solid = "#" if console.options.ascii_only else "█"
    for row in rows[:-1]:
        reasons = _fitting(row.source.tokens[:REASONS], room) if isinstance(row.source, WordScore) else ""
        table.add_row(*_name_and_score(row), _bar(row.score, largest, solid), Text(reasons))
    _add_logit(table, rows[-1])
    return table


def _fitting(reasons: Sequence[str], room: int) -> str:
    """As many whole words as fit, the first in any case."""
    while len(reasons) > 1 and cell_len(", ".join(reasons)) > room:
        reasons = reasons[:-1]
    return ", ".join(reasons)


def token_table(explanation: Explanation, top: int) -> Table:
    """The sum token by token, the `top` strongest in rows of their own."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("vocabulary token", max_width=MAX_WORD_WIDTH, no_wrap=True, overflow="ellipsis")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    rows = token_rows(explanation, top)
    for row in rows[:-1]:
        value = f"{row.source.value:.3f}" if isinstance(row.source, TokenScore) else ""
        table.add_row(*_name_and_score(row), Text(value))
    _add_logit(table, rows[-1])
    return table


def _name_and_score(row: Row) -> tuple[Text, Text]:
    return Text(one_line(row.name), style="" if row.source else "dim"), Text(row.printed, style=_colour(row.score))


def _add_logit(table: Table, logit: Row) -> None:
    table.add_row(Text(f"= {one_line(logit.name)}", style="bold"), Text(logit.printed, style="bold"))


def _bar(score: float, largest: float, solid: str) -> Text:
    """A bar from the middle: rightwards toward the target, leftwards against it."""
    cells = round(BAR_HALF * abs(score) / largest) if largest else 0
    left, right = (solid * cells, "") if score < 0 else ("", solid * cells)
    return Text(f"{left:>{BAR_HALF}}|{right:<{BAR_HALF}}", style=_colour(score) if cells else "dim")


def _largest(explanation: Explanation) -> float:
    return max((abs(word.score) for word in explanation.words), default=0.0)


def _colour(score: float) -> str:
    if score == 0:
        return ""
    return TOWARD if score > 0 else AGAINST


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def harmless(text: str) -> str:
    """The text in its lines, of which none can steer the terminal."""
    return "\n".join(one_line(line) for line in text.split("\n"))
