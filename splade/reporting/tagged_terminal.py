"""A tagged text in the terminal: its entities in brackets, and for their words the tokens that decided."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText
from splade.evaluation.figure import percent
from splade.reporting.explained import tag_rows
from splade.reporting.sums_table import SumRow, sums_table
from splade.reporting.tagged import (
    STRONGEST_OF_SEVERAL,
    STRONGEST_WORDS,
    context_rows,
    stretches,
    unmeasured_words,
)
from splade.reporting.terminal import token_table
from splade.utils.one_line import one_line

ENTITY, TYPE = "bold green", "green"


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
    if any(word.context is not None for word in found.explained):
        console.print()
        console.print(Text("When another word is deleted, the logit of the tag changes:"))
        console.print(_context_table(found, console))
        unmeasured = max(unmeasured_words(word.context) for word in found.explained if word.context is not None)
        if unmeasured > 0:
            console.print(Text(f"Up to {unmeasured} words were not deleted: they are not in the window of the word."))


def _context_table(found: ExplainedText, console: Console) -> Table:
    """Rows for each explained word: the other words that do most, and the tokens through which."""
    lines, most = [], STRONGEST_WORDS if len(found.explained) == 1 else STRONGEST_OF_SEVERAL
    for word in found.explained:
        rows = [] if word.context is None else context_rows(found.tagged, word.context, most)
        name = [str(word.number), word.itself.word, word.explanation.target]
        if not rows:
            lines.append(SumRow([*name, "", ""], [], "there is no other word"))
        for row in rows:
            lines.append(SumRow([*name, row.word, row.effect], row.summands))
            name = ["", "", ""]
    return sums_table(["", "word", "tag", "without", "logit falls by", "= tokens and bias"], lines, console)


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
    lines = []
    for word in found.explained:
        rows = tag_rows(word.explanation, top)
        name, target = word.itself.word, word.explanation.target
        sure = percent(word.explanation.probabilities[target])
        cells = [str(word.number), name, target, sure, rows[-1].printed]
        lines.append(SumRow(cells, [(row.name, row.printed) for row in rows[:-1]]))
    asked = any(word.explanation.target != word.explanation.label for word in found.explained)
    by_word = any(len(word.explanation.words) > 1 for word in found.explained)
    summed = f"= {'words' if by_word else 'tokens'} and bias"
    headings = ["", "word", "target" if asked else "tag", "sure", "logit", summed]
    return sums_table(headings, lines, console)
