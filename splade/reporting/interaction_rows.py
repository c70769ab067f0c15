"""Interactions laid out for reading, the same in the terminal and in the report: rows that add up as printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from splade.attribution.interactions import Interaction, Interactions, Through
from splade.reporting.explained import DECIMALS, round_to_sum, signed

NAMED = 3
"""Other words named in a row: those that change most; the rest share a summand."""

MOST_ROWS = 8
"""Rows of a table, unless every word was asked for: the first say what there is to say."""


@dataclass(frozen=True)
class Summand:
    """Another word and its change, what the words folded have changed by, or the bias."""

    name: str
    units: int
    """The change as printed, in units of the last decimal."""
    other: Through | None = None

    @property
    def printed(self) -> str:
        return signed(self.units)


@dataclass(frozen=True)
class InteractionRow:
    """What deleting a word does: `effect` is the sum of `own` and of `through`, as printed."""

    name: str
    effect: str
    own: str
    through: list[Summand]
    then: str | None
    """The label predicted without the word, where it is another."""
    source: Interaction


@dataclass(frozen=True)
class InteractionTable:
    """The rows of one text, and what a reader must know of them."""

    target: str
    rows: list[InteractionRow]
    notes: list[str]


def interaction_table(interactions: Interactions) -> InteractionTable:
    """Spans as they were asked for, then the words that matter, the largest effect first."""
    shown = interactions.shown()
    most = len(shown) if interactions.every else len(interactions.spans) + MOST_ROWS
    rows = [_row(one, interactions.label) for one in shown[:most]]
    return InteractionTable(
        interactions.target, rows, [*_reading(rows), *_notes(interactions, hidden=len(shown) - len(rows))]
    )


def _row(one: Interaction, label: str) -> InteractionRow:
    strongest = sorted(one.through, key=lambda other: -abs(other.change))
    kept, folded = strongest[:NAMED], strongest[NAMED:]
    others: list[tuple[str, float, Through | None]] = [(other.word, other.change, other) for other in kept]
    if folded:
        others.append((f"{len(folded)} more", math.fsum(other.change for other in folded), None))
    if one.bias:
        others.append(("bias", one.bias, None))
    own = round((one.share if others else one.effect) * 10**DECIMALS)  # as the sum of the text prints it
    units = round_to_sum([change for _, change, _ in others], one.effect - own / 10**DECIMALS)
    through = [Summand(name, unit, other) for (name, _, other), unit in zip(others, units, strict=True) if unit]
    effect, then = signed(round(one.effect * 10**DECIMALS)), one.label if one.label != label else None
    return InteractionRow(one.text, effect, signed(own), through, then, one)


def _reading(rows: Sequence[InteractionRow]) -> list[str]:
    """The largest change of all in a sentence: what one word says beside another, and what without it."""
    changes = [(row, one, one.other) for row in rows for one in row.through if one.other is not None]
    if not changes:
        return []
    row, summand, other = max(changes, key=lambda change: abs(change[1].units))
    share = round(other.share * 10**DECIMALS)
    return [f"“{other.word}” says {signed(share)} beside “{row.name}”, and {signed(share - summand.units)} without it."]


def _notes(interactions: Interactions, hidden: int) -> list[str]:
    said = []
    for one in interactions.spans:
        if one.together is not None:
            size, than = f"{abs(one.together):.{DECIMALS}f}", "less" if one.together < 0 else "more"
            said.append(f"Deleting “{one.text}” at once takes {size} {than} than each of the two alone, added up.")
    if hidden:
        said.append(f"Words not shown, which do less: {hidden}.")
    if interactions.left_out:
        said.append(f"The text is long: {interactions.left_out} words that say little were not deleted.")
    if any(one.shifted for one in interactions.words):
        said.append("The text is longer than the model reads: where a word goes, others come in at its end.")
    return said
