"""A tagged text laid out for reading, the same in the terminal and in the report."""

from __future__ import annotations

from dataclasses import dataclass

from splade.attribution.context_estimate import ContextEstimate
from splade.attribution.tagged import Entity, TaggedText
from splade.evaluation.figure import MISSING

STRONGEST_WORDS = 5
"""Other words named by an estimate of context: the rest is mostly noise."""


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


def context_words(tagged: TaggedText, context: ContextEstimate) -> list[str]:
    """The other words that moved a decision most, each with the change of the logit it is estimated to make; a dash for
    those that were not measured, if any."""
    measured = [
        (word.word, change) for word, change in zip(tagged.words, context.change, strict=True) if change is not None
    ]
    named = [f"{word} {change:+.3f}" for word, change in sorted(measured, key=lambda each: -abs(each[1]))]
    unmeasured = len(context.change) - len(measured) - 1  # the word itself is no other
    return named[:STRONGEST_WORDS] + ([f"{unmeasured} in other windows {MISSING}"] if unmeasured else [])
