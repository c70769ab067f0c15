"""A tagged text laid out for reading, the same in the terminal and in the report."""

from __future__ import annotations

import math
from dataclasses import dataclass

from splade.attribution.context import ContextEffect, ContextEffects
from splade.attribution.tagged import Entity, TaggedText
from splade.reporting.explained import round_to_sum, signed

STRONGEST_WORDS, STRONGEST_TOKENS = 5, 3
"""Other words named as context of one word, and tokens named of each: the rest does little."""

STRONGEST_OF_SEVERAL = 3
"""Other words named as context of each of several words."""


@dataclass(frozen=True)
class Stretch:
    """A part of the text: an entity, or what lies between two."""

    text: str
    entity: Entity | None


def stretches(tagged: TaggedText) -> list[Stretch]:
    """The text cut at its entities. Joined, the stretches give the text back, character for character."""
    pieces: list[Stretch] = []
    cursor = 0
    for entity in tagged.entities:
        if entity.start > cursor:
            pieces.append(Stretch(tagged.text[cursor : entity.start], None))
        pieces.append(Stretch(entity.text, entity))
        cursor = entity.end
    if cursor < len(tagged.text):
        pieces.append(Stretch(tagged.text[cursor:], None))
    return pieces


@dataclass(frozen=True)
class ContextRow:
    """What deleting another word does: `effect` is the sum of `summands`, as printed."""

    word: str
    effect: str
    summands: list[tuple[str, str]]
    """The tokens that changed most, the others together, and the bias, each with its change."""


def context_rows(tagged: TaggedText, context: ContextEffects, most: int = STRONGEST_WORDS) -> list[ContextRow]:
    """The other words that moved a decision most, `most` of them."""
    pairs = zip(tagged.words, context.effects, strict=True)
    measured = [(word.word, effect) for word, effect in pairs if effect is not None]
    strongest = sorted(measured, key=lambda pair: -abs(pair[1].effect))[:most]
    return [_context_row(word, effect) for word, effect in strongest]


def unmeasured_words(context: ContextEffects) -> int:
    """Other words that were not deleted, not being in the window of the word."""
    return sum(effect is None for effect in context.effects) - 1  # the word itself is no other


def _context_row(word: str, effect: ContextEffect) -> ContextRow:
    kept, folded = effect.tokens[:STRONGEST_TOKENS], effect.tokens[STRONGEST_TOKENS:]
    changes = [(token.token, token.change) for token in kept]
    if folded:
        changes.append((f"{len(folded)} more", math.fsum(token.change for token in folded)))
    if effect.bias:
        changes.append(("bias", effect.bias))
    units = round_to_sum([change for _, change in changes], effect.effect)
    summands = [(name, signed(unit)) for (name, _), unit in zip(changes, units, strict=True) if unit]
    return ContextRow(word, signed(sum(units)), summands)
