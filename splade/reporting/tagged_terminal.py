"""A tagged text in the terminal: its entities in brackets, and for their words the tokens that decided."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText
from splade.evaluation.figure import percent
from splade.reporting.explained import tag_rows
from splade.reporting.tagged import context_words, stretches
from splade.reporting.terminal import GAP, MAX_WORD_WIDTH, token_table
from splade.utils.one_line import one_line

ENTITY, TYPE = "bold green", "green"

SMALLEST_ROOM = 24
"""Cells that a sum gets however narrow the terminal."""


def print_tagged(tagged: TaggedText, console: Console) -> None:
    """The text on one line, entities as [TYPE probability words]."""
    console.print(_bracketed(tagged), soft_wrap=True)


def print_explained_tags(found: ExplainedText, console: Console, top: int, *, whole: bool = False) -> None:
    """Print the text and the exact sum behind each explained word; the numbers of a sum add up as printed.

    Args:
        found: what to print.
        console: where to; colours and width are its business, and nothing depends on colour alone.
        top: how many tokens of a sum, or words where several speak for one, are named; the others share a summand.
        whole: give each sum a table of its own.
    """
    print_tagged(found.tagged, console)
    if not found.explained:
        return
    console.print()
    for word in found.explained if whole else ():
        console.print(_verdict(word))
        console.print(token_table(word.explanation, top))
    if not whole:
        console.print(_table(found, console, top))
    estimates = [(word, word.context) for word in found.explained if word.context is not None]
    if estimates:
        console.print()
        console.print(Text("Other words, by how much the logit falls when one is hidden (an estimate, not a sum):"))
    for word, context in estimates:
        names = ", ".join(context_words(found.tagged, context)) or "there is no other word"
        console.print(Text(f"{word.number}  {one_line(word.itself.word)}: {one_line(names)}"))


def _bracketed(tagged: TaggedText) -> Text:
    line = Text()
    for stretch in stretches(tagged):
        text = one_line(stretch.text)
        if stretch.entity is None:
            line.append(text)
            continue
        line.append(f"[{one_line(stretch.entity.type)} {stretch.entity.probability:.2f} ", style=TYPE)
        line.append(text, style=ENTITY)
        line.append("]", style=TYPE)
    if not tagged.words:
        return Text("(empty text)", style="dim")
    if not tagged.entities:
        line.append("  (no entity)", style="dim")
    return line


def _verdict(word: ExplainedWord) -> Text:
    explanation = word.explanation
    line = Text(f"{word.number}  {one_line(word.itself.word)}  ")
    line.append(one_line(explanation.label), style="bold")
    line.append(f"  {percent(explanation.probabilities[explanation.label])}")
    if explanation.target != explanation.label:
        line.append(
            f"  explained: {one_line(explanation.target)}  {percent(explanation.probabilities[explanation.target])}"
        )
    return line


def _table(found: ExplainedText, console: Console, top: int) -> Table:
    """A row a word: its tag and the sum that is the tag's logit."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    cells = []
    for word in found.explained:
        rows = tag_rows(word.explanation, top)
        name, target = word.itself.word, word.explanation.target
        sure = percent(word.explanation.probabilities[target])
        summands = [f"{one_line(row.name)} {row.printed}" for row in rows[:-1]]
        cells.append(
            ([str(word.number), one_line(name), one_line(word.explanation.target), sure, rows[-1].printed], summands)
        )
    asked = any(word.explanation.target != word.explanation.label for word in found.explained)
    headings = ["", "word", "target" if asked else "tag", "sure", "logit"]
    widths = [max(cell_len(text) for text in column) for column in zip(headings, *(c for c, _ in cells), strict=True)]
    widths[1] = min(widths[1], MAX_WORD_WIDTH)
    for heading, width in zip(headings, widths, strict=True):
        right = heading in ("", "sure", "logit")
        table.add_column(
            heading,
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=width,
            max_width=width,
        )
    by_word = any(len(word.explanation.words) > 1 for word in found.explained)
    table.add_column(f"= {'words' if by_word else 'tokens'} and bias", no_wrap=True, overflow="ellipsis")
    room = max(SMALLEST_ROOM, console.width - sum(widths) - GAP * len(widths))
    for first, summands in cells:
        table.add_row(*(Text(text) for text in first), Text("\n".join(_lines(summands, room))))
    return table


def _lines(summands: Sequence[str], room: int) -> list[str]:
    """Broken between summands only: a name and its number belong together."""
    lines = [summands[0]]
    for summand in summands[1:]:
        if cell_len(f"{lines[-1]}, {summand}") < room:
            lines[-1] += f", {summand}"
        else:
            lines[-1] += ","
            lines.append(summand)
    return lines
