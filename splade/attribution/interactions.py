"""Interactions: what deleting a word from a text does, as an exact sum over the words it acts through.

A logit is a sum of words with the word and without it, so that their difference is a sum of words too:

    effect(w) = logit(text) − logit(text without w)
              = share(w) + Σ_{v ≠ w} (share_v(text) − share_v(text without w)) + (bias(text) − bias(text without w))

that is: what w says itself, what it does through each other word v, and the change of the bias.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from splade.attribution.explanation import NO_WORD, WordScore
from splade.attribution.sums import WordSum

MATTERS_FROM = 0.05
"""Share of the largest |effect| or |share| of a text's words from which on a word is worth a row."""

NO_NUMBER = -1
"""Number of the row of what arose at no word."""


@dataclass(frozen=True)
class Through:
    """Another word, and how much of its share it has because of the word deleted."""

    number: int
    """Of the word in the text, from 0; −1 for what arose at no word."""
    word: str
    start: int
    end: int
    share: float
    """What it says in the text."""
    change: float
    """Its share in the text less its share without the word deleted; above 0: that word lifts it, for the target."""


@dataclass(frozen=True)
class Interaction:
    """What deleting one word does to the target's logit, or several words at once."""

    numbers: tuple[int, ...]
    """Of the words deleted, ascending."""
    text: str
    """The words deleted, as they stand in the text; " … " where others stand between them."""
    start: int
    """First character of the first."""
    end: int
    """One past the last character of the last."""
    share: float
    """What they say themselves: the sum of their shares in the text."""
    effect: float
    """The logit of the text less the logit without them."""
    label: str
    """The label predicted without them."""
    through: list[Through]
    """Every other word whose share changed, in reading order."""
    bias: float
    """The bias of the text less the bias without them; 0 where the head has the same one for every text."""
    shifted: bool = False
    """Whether text came into view at the end that the model had not read, the text being longer than it reads. Words
    that came in have a share of 0 with the word, so that the sum is exact for these too."""
    together: float | None = None
    """Of two words: their effect less the effects of each alone. 0: each does the same whether or not the other is
    there; None where one of the three was not measured."""

    def check(self) -> float:
        """The error of the sum, |share + Σ through + bias − effect|."""
        return abs(math.fsum([self.share, self.bias, *(other.change for other in self.through)]) - self.effect)

    def to_json(self) -> dict[str, object]:
        """An entry of `interactions.deleted`."""
        found: dict[str, object] = {
            "words": list(self.numbers),
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "share": self.share,
            "effect": self.effect,
            "label": self.label,
            "through": [
                {
                    "number": v.number,
                    "word": v.word,
                    "start": v.start,
                    "end": v.end,
                    "share": v.share,
                    "change": v.change,
                }
                for v in self.through
            ],
            "bias": self.bias,
            "shifted": self.shifted,
        }
        return found if self.together is None else found | {"together": self.together}


@dataclass(frozen=True)
class Interactions:
    """What deleting words of one text does to the logit of one label."""

    label: str
    """The label predicted."""
    target: str
    """The label whose logit it is."""
    words: list[Interaction]
    """Single words, in reading order."""
    spans: list[Interaction] = field(default_factory=list)
    """What was asked for: several words at once, or one, which then is among `words` too."""
    every: bool = False
    """Whether every word was asked for, or those that matter."""
    left_out: int = 0
    """Words that the model reads and that were not deleted, the text being long."""
    not_found: list[str] = field(default_factory=list)
    """What was asked for and does not stand in the text."""

    def check(self) -> float:
        """The largest error of a sum."""
        return max((one.check() for one in (*self.words, *self.spans)), default=0.0)

    @property
    def largest(self) -> float:
        """The most that a word does through others, |effect − share|."""
        return max((abs(one.effect - one.share) for one in self.words), default=0.0)

    def shown(self) -> list[Interaction]:
        """What is worth a row: spans as asked for, then words, the largest effect first; unless every word was asked
        for, those whose effect or share is a twentieth of the largest or more."""
        sizes = [max(abs(one.effect), abs(one.share)) for one in self.words]
        least = MATTERS_FROM * max(sizes, default=0.0)
        asked = {one.numbers for one in self.spans}
        kept = [
            one
            for one, size in zip(self.words, sizes, strict=True)
            if one.numbers not in asked and (self.every or size >= least > 0)
        ]
        return [*self.spans, *sorted(kept, key=lambda one: -abs(one.effect))]

    def to_json(self) -> dict[str, object]:
        """The `interactions` of what `lexical-sae explain --interactions --json` prints: all that was measured."""
        return {
            "deleted": [one.to_json() for one in (*self.words, *(one for one in self.spans if len(one.numbers) > 1))],
            "left_out": self.left_out,
            "not_found": list(self.not_found),
        }


def interaction(
    words: Sequence[WordScore], before: WordSum, after: WordSum, gone: Collection[int], *, shifted: bool
) -> Interaction:
    """The effect of deleting some words, by number, as a sum.

    `words`: those of the text (W,). `before`: the sum of the text, over W words; `after`: of the text without them,
    over those left, which are known by their order.
    """
    numbers = tuple(sorted(gone))
    left = [n for n in range(len(words)) if n not in gone]
    named = [*words, WordScore(NO_WORD, 0, 0, 0.0)]  # NO_NUMBER, −1, is the last, here and in the shares
    others = [
        Through(n, named[n].word, named[n].start, named[n].end, before.shares[n], before.shares[n] - share)
        for n, share in zip([*left, NO_NUMBER], after.shares, strict=True)
    ]
    return Interaction(
        numbers,
        _joined(words, numbers),
        words[numbers[0]].start,
        words[numbers[-1]].end,
        share=math.fsum(before.shares[n] for n in numbers),
        effect=before.logit - after.logit,
        label=after.label,
        through=[other for other in others if other.change],
        bias=before.bias - after.bias,
        shifted=shifted,
    )


def _joined(words: Sequence[WordScore], numbers: Sequence[int]) -> str:
    """Words as a reader finds them: side by side, or with a mark of what is left out between them."""
    parts = [words[numbers[0]].word]
    for before, number in pairwise(numbers):
        parts.append(" " if number == before + 1 else " … ")
        parts.append(words[number].word)
    return "".join(parts)
