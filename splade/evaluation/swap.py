"""Counterfactual swap: how far a decision moves when the word for a group is exchanged, and which words move it.

A model's margin m = mean logit of its positive classes − mean logit of the others (with two classes, the log-odds) is a
sum over the words of a text. So is, exactly, the difference between two texts:

    m(two) − m(one) = Σ_words (score in two − score in one) + what arose at no word + the change of the bias

word by word where both texts have the same word, and each for itself where one stands in the place of another. Every
pair is read in the direction in which its margin rises; over all pairs, the words' shares of Σ|m(two) − m(one)| then
add up to 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from math import fsum

import numpy as np

from splade.data.swaps import Frame
from splade.errors import DataError
from splade.evaluation.estimate import Estimate, estimate
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText

MOST_WORDS = 30
"""Words that are listed by name; the others' share is given as a whole."""

NO_WORD, BIAS = "(no word)", "(bias)"
"""Rows of what arose at no word of a text, and of the bias, which may change from text to text."""


@dataclass(frozen=True)
class MarginText:
    """A text's margin as a sum over its words."""

    text: WordText
    scores: np.ndarray
    """(W,)."""
    elsewhere: float
    bias: float
    positive: bool
    """Whether the class decided on is a positive one."""

    @property
    def margin(self) -> float:
        return float(self.scores.sum()) + self.elsewhere + self.bias


@dataclass(frozen=True)
class WordChange:
    """What one place of two texts does to the difference of their margins."""

    one: str
    """The word in the first text; empty: only the second has a word here."""
    two: str
    change: float
    exchanged: bool
    """Whether the texts differ here."""


@dataclass(frozen=True)
class Carrier:
    """A word, and its part in all differences."""

    word: str
    share: float
    """Of Σ|difference|; negative: it works against the others."""
    exchanged: bool
    """Whether it is a word that was exchanged; else it stands in both texts, and says something else in each."""
    pairs: int


@dataclass(frozen=True)
class LargestSwap:
    """The pair of texts whose margins differ most."""

    one: str
    two: str
    """The one with the higher margin."""
    change: float
    words: list[WordChange]
    """All that carries it, largest |change| first; with no word and bias, they add up to it."""


@dataclass(frozen=True)
class SwapResult:
    """All pairs."""

    mean: Estimate
    """Mean |difference of margins|, in logits; the interval is by bootstrap over templates or texts."""
    flips: Estimate
    """Share of the pairs that are decided on in different ways."""
    largest: LargestSwap
    terms: dict[str, float]
    """By word, how much higher the margin is with it than with the others in its place, in the mean; highest first."""
    carriers: list[Carrier]
    """Largest |share| first."""
    exchanged: float
    """Share of all differences on the exchanged words themselves …"""
    through: float
    """… on other words, which say something else beside them, no word and bias included. Both add up to 1."""
    others: float
    """Share on words that `carriers` does not list."""
    frames: int
    pairs: int
    sum_error: float
    """The largest error of the sum over words, |Σ − difference|, over all pairs."""


def read_margins(subject: Subject, texts: Sequence[str], positive: np.ndarray) -> list[MarginText]:
    """The margins of texts, by the classes that are `positive` (C,)."""
    weights = np.where(positive, 1 / max(int(positive.sum()), 1), -1 / max(int((~positive).sum()), 1))  # (C,)
    read = [WordText.of(text) for text in texts]
    explainer = EXPLAINERS.get("dla")(ExplainerParts())
    of_classes = [explainer.explain(subject, read, [number] * len(read)) for number in range(len(weights))]
    found = []
    for text, *every in zip(read, *of_classes, strict=True):
        logits = [each.total or 0.0 for each in every]
        found.append(
            MarginText(
                text,
                np.asarray(sum(weight * each.scores for weight, each in zip(weights, every, strict=True))),
                fsum(weight * each.elsewhere for weight, each in zip(weights, every, strict=True)),
                fsum(weight * (each.base or 0.0) for weight, each in zip(weights, every, strict=True)),
                bool(positive[int(np.argmax(logits))]),
            )
        )
    return found


def difference(one: MarginText, two: MarginText) -> list[WordChange]:
    """The difference of two margins, exactly, as changes of aligned words, of no word and of the bias."""
    first, second = ([word.lower() for word in each.text.words] for each in (one, two))
    changes = []
    for same, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if same == "equal":
            for n, m in zip(range(a, b), range(c, d), strict=True):
                change = float(two.scores[m] - one.scores[n])
                changes.append(WordChange(one.text.words[n], two.text.words[m], change, False))
            continue
        changes += [WordChange(one.text.words[n], "", -float(one.scores[n]), True) for n in range(a, b)]
        changes += [WordChange("", two.text.words[m], float(two.scores[m]), True) for m in range(c, d)]
    return [
        *changes,
        WordChange(NO_WORD, NO_WORD, two.elsewhere - one.elsewhere, False),
        WordChange(BIAS, BIAS, two.bias - one.bias, False),
    ]


def swap(subject: Subject, frames: Sequence[Frame], positive: np.ndarray, seed: int = 0) -> SwapResult:
    """Exchange every word of every frame for every other; `positive` (C,): the classes that count as positive."""
    if not frames:
        raise DataError("No text has a word to exchange; give templates, or words that the texts have.")
    texts = list(dict.fromkeys(text for frame in frames for text in frame.variants.values()))
    margins = dict(zip(texts, read_margins(subject, texts, positive), strict=True))
    totals: dict[tuple[str, bool], list[float]] = defaultdict(list)
    sizes, flips, owner, errors = [], [], [], []
    largest: tuple[MarginText, MarginText] | None = None
    for number, one, two in _pairs(frames, margins):
        size, changes = two.margin - one.margin, difference(one, two)
        for each in changes:
            totals[(each.two or each.one).lower(), each.exchanged].append(each.change)
        sizes.append(size)
        flips.append(one.positive != two.positive)
        owner.append(number)
        errors.append(abs(fsum(each.change for each in changes) - size))
        if largest is None or size > largest[1].margin - largest[0].margin:
            largest = one, two
    assert largest is not None
    mean, flipped = (estimate(np.array(each, dtype=float), np.array(owner), seed) for each in (sizes, flips))
    assert mean is not None and flipped is not None
    carriers = _carriers(totals, fsum(sizes))
    exchanged = fsum(each.share for each in carriers if each.exchanged)
    return SwapResult(
        mean,
        flipped,
        _largest(*largest),
        _by_term(frames, margins),
        carriers[:MOST_WORDS],
        exchanged,
        fsum(each.share for each in carriers if not each.exchanged),
        fsum(each.share for each in carriers[MOST_WORDS:]),
        len(frames),
        len(sizes),
        max(errors),
    )


def _pairs(frames: Sequence[Frame], margins: dict[str, MarginText]) -> Iterator[tuple[int, MarginText, MarginText]]:
    """The number of the frame and two of its variants, the one with the higher margin second."""
    for number, frame in enumerate(frames):
        for pair in combinations([margins[text] for text in frame.variants.values()], 2):
            one, two = sorted(pair, key=lambda each: each.margin)
            yield number, one, two


def _carriers(totals: dict[tuple[str, bool], list[float]], whole: float) -> list[Carrier]:
    found = [
        Carrier(word, fsum(changes) / whole if whole else 0.0, exchanged, len(changes))
        for (word, exchanged), changes in totals.items()
    ]
    return sorted(found, key=lambda each: (-abs(each.share), each.word))


def _largest(one: MarginText, two: MarginText) -> LargestSwap:
    words = sorted(difference(one, two), key=lambda each: -abs(each.change))
    return LargestSwap(one.text.text, two.text.text, two.margin - one.margin, words)


def _by_term(frames: Sequence[Frame], margins: dict[str, MarginText]) -> dict[str, float]:
    """How much higher the margin is with a word than with the others of its frame, in the mean over frames."""
    above: dict[str, list[float]] = defaultdict(list)
    for frame in frames:
        own = {term: margins[text].margin for term, text in frame.variants.items()}
        for term, margin in own.items():
            above[term].append(margin - (fsum(own.values()) - margin) / (len(own) - 1))
    means = {term: fsum(values) / len(values) for term, values in above.items()}
    return dict(sorted(means.items(), key=lambda item: -item[1]))
