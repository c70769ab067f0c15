"""A tagged text laid out for reading, the same in the terminal and in the report."""

from __future__ import annotations

from dataclasses import dataclass

from splade.attribution.context_estimate import ContextEstimate
from splade.attribution.tagged import Entity, TaggedText

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
    """The other words that moved a decision most, each with the change of the logit it is estimated to make."""
    order = sorted(range(len(context.change)), key=lambda n: -abs(context.change[n]))
    return [f"{tagged.words[n].word} {context.change[n]:+.3f}" for n in order[:STRONGEST_WORDS] if context.change[n]]
