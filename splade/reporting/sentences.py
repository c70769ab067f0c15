"""Explained sentences as pages show them: what is marked and how strongly, and the sums; the same in the report and in
notebooks."""

from __future__ import annotations

from dataclasses import dataclass

from splade.attribution.explanation import Explanation, WordScore
from splade.attribution.tagged import ExplainedText, ExplainedWord
from splade.evaluation.figure import percent
from splade.reporting.explained import Row, segments, tag_rows, word_rows
from splade.reporting.interaction_rows import InteractionTable, interaction_table
from splade.reporting.tagged import Stretch, stretches

TOP_WORDS = 8
"""Words named in a sentence's sum line; the others share one summand, and all are in the unfolded table."""

FAINTEST, STRONGEST = 0.10, 0.55
"""Opacity of the background behind a word that says almost nothing, and behind the one that says most."""


@dataclass(frozen=True)
class Mark:
    """A stretch of an explained text: plain, or a word with a background and a tooltip."""

    text: str
    kind: str = ""
    """`toward`, `against`, or empty for what has no score."""
    opacity: float = 0.0
    title: str = ""


@dataclass(frozen=True)
class Explained:
    """One sentence of the report."""

    explanation: Explanation
    probability: str
    marks: list[Mark]
    rows: list[Row]
    """The sum as one line."""
    words: list[Row]
    """The sum with every word that has a say."""
    error: float
    gold: str | None = None
    """The label that the data have, where it is another."""
    interactions: InteractionTable | None = None
    """What deleting words does, of sentences in which words act through others."""


@dataclass(frozen=True)
class TaggedSentence:
    """One sentence of a tagger's report."""

    stretches: list[Stretch]
    words: list[tuple[ExplainedWord, str, list[Row]]]
    """Each word of an entity, how sure its tag is, and its sum as one line."""
    error: float
    gold: str | None = None
    """The tags that the data have where they are others."""

    @property
    def found(self) -> bool:
        """Whether there is an entity."""
        return any(part.entity is not None for part in self.stretches)

    @property
    def by_word(self) -> bool:
        """Whether the sums are over words of the sentence, not tokens."""
        return any(len(word.explanation.words) > 1 for word, _, _ in self.words)


def explained(explanation: Explanation, largest: float, gold: str | None = None) -> Explained:
    """A sentence with highlighted words and its sum; `largest`: the |score| from which on the colour is strongest."""
    return Explained(
        explanation=explanation,
        probability=percent(explanation.probabilities[explanation.target]),
        marks=[_mark(segment.text, segment.word, largest) for segment in segments(explanation)],
        rows=word_rows(explanation, TOP_WORDS),
        words=word_rows(explanation, len(explanation.words)),
        error=explanation.check(),
        gold=gold,
        interactions=None if explanation.interactions is None else interaction_table(explanation.interactions),
    )


def tagged_sentence(found: ExplainedText, gold: str | None = None) -> TaggedSentence:
    """A sentence with highlighted entities and the sum behind each of their words."""
    return TaggedSentence(
        stretches(found.tagged),
        [
            (
                word,
                percent(word.explanation.probabilities[word.explanation.target]),
                tag_rows(word.explanation, TOP_WORDS),
            )
            for word in found.explained
        ],
        max((word.explanation.check() for word in found.explained), default=0.0),
        gold,
    )


def _mark(text: str, word: WordScore | None, largest: float) -> Mark:
    if word is None or word.score == 0 or largest == 0:
        return Mark(text)
    share = min(1.0, abs(word.score) / largest)
    because = f", because of {', '.join(word.tokens)}" if word.tokens else ""
    return Mark(
        text,
        kind="toward" if word.score > 0 else "against",
        opacity=round(FAINTEST + (STRONGEST - FAINTEST) * share, 3),
        title=f"{word.score:+.6f}{because}",
    )
