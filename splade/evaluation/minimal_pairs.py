"""Minimal pairs: short sentences that differ by a negation alone, around adjectives that the training texts take sides
on. Does the label follow, and which words does the explanation say it was?"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import interval
from splade.evaluation.estimate import Estimate, estimates
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText


def _words(lines: str) -> tuple[str, ...]:
    return tuple(lines.split())


ADJECTIVES = _words(
    """
good great excellent charming funny delightful brilliant witty lovely beautiful clever moving warm perfect enjoyable
superb wonderful entertaining engaging amazing fantastic fresh powerful smart touching compelling fascinating inventive
refreshing satisfying memorable delicious friendly helpful comfortable awesome outstanding impressive fun interesting
original hilarious gorgeous honest solid worthwhile
bad awful terrible boring dull stupid weak poor ugly horrible lame tedious cold silly shallow clumsy pointless
predictable flat bland lifeless tired empty ridiculous forgettable disappointing annoying mediocre dreadful pathetic
unfunny messy rude dirty overpriced useless slow broken worthless unpleasant disgusting generic ludicrous contrived
"""
)
"""English adjectives that judge, and can follow "is". Which of them are good and bad the training texts say."""

ONE_SIDED = 0.75
"""Least share of an adjective's occurrences in texts of one label, both labels counting as if equally frequent."""

SHOWN_FROM = 0.05
"""Of the largest contribution of a word, from which on `explain --interactions` shows another."""

MOST_ADJECTIVES = 20
"""Adjectives of each label, the most frequent."""

SUBJECTS = ("It", "This", "The whole thing", "Everything about it")
"""Of what is judged: nothing that would belong to films or restaurants alone."""


@dataclass(frozen=True)
class Form:
    """A way to say that something is, or is not, as an adjective says."""

    phrase: str
    """After the subject; {} is the adjective, and what stands in brackets makes the difference."""
    negates: bool

    @property
    def title(self) -> str:
        return re.sub(r"[\[\]]", "", self.phrase).replace("{}", "…")

    def text(self, subject: str, adjective: str) -> tuple[str, list[tuple[int, int]], tuple[int, int]]:
        """The sentence, and the characters of what makes the difference and of the adjective."""
        written, marked, adjective_at = f"{subject} ", [], (0, 0)
        for part in re.split(r"(\[.*?\]|\{\})", self.phrase):
            start = len(written)
            written += adjective if part == "{}" else part.strip("[]")
            if part == "{}":
                adjective_at = (start, len(written))
            elif part.startswith("["):
                marked.append((start, len(written)))
        return f"{written}.", marked, adjective_at


PLAIN = "plain"
FORMS: Mapping[str, Form] = {
    PLAIN: Form("is {}", negates=False),
    "intensified": Form("is [very] {}", negates=False),
    "not": Form("is [not] {}", negates=True),
    "contracted": Form("is[n't] {}", negates=True),
    "never": Form("is [never] {}", negates=True),
    "hardly": Form("is [hardly] {}", negates=True),
    "far_from": Form("is [far from] {}", negates=True),
    "fails": Form("[fails to be] {}", negates=True),
    "double": Form("[does not fail to be] {}", negates=False),
}
"""The plain one, one that only adds a word, negations, and two negations that make none."""


@dataclass(frozen=True)
class FormFigures:
    """Sentences of one form around adjectives of one label, beside the plain ones that they differ from.

    Contributions are to the logit of the adjective's own label less that of the other, so that what speaks for the
    adjective is positive.
    """

    follows: Estimate | None
    """Share with the right label, of those whose plain sentence has it."""
    moved: Estimate | None
    """Mean change of the difference of logits; with a negation it should be well below 0."""
    by_difference: Estimate | None
    """Of that, what the words that make the difference contribute themselves …"""
    by_adjective: Estimate | None
    """… and the change of the adjective's own contribution. The rest is other words and the bias."""
    turned: Estimate | None
    """Share in which the adjective's own contribution changes its sign."""
    on_difference: Estimate | None
    """Share of all |contribution| on the words that make the difference."""
    named: Estimate | None
    """Share in which an explanation with interactions names these words: what they contribute, or what deleting them
    does, is at least `SHOWN_FROM` of the most that any word contributes."""
    as_dense: Estimate | None = None
    """Share with the right label, of those to which the dense head gives it, plain and in this form."""


@dataclass(frozen=True)
class MinimalPairs:
    """All forms."""

    forms: dict[str, dict[str, FormFigures]]
    """By the name of the form, and around `positive` and `negative` adjectives."""
    positive: list[str]
    """The good adjectives, as the training texts have it."""
    negative: list[str]
    plain_right: float
    """Share of the plain sentences with the label of their adjective; the others say nothing of negation."""
    texts: int
    """Sentences of each form."""
    negated: Estimate | None = None
    """Share with the right label over all forms that negate, of the sentences to which the dense head gives it."""
    negated_texts: int = 0
    """How many of these there are."""
    named: Estimate | None = None
    """Share of all negated sentences whose explanation names the negation: it speaks, or deleting it acts."""


def one_sided(
    texts: Sequence[str], labels: np.ndarray, positive: int, candidates: Collection[str] = ADJECTIVES
) -> tuple[list[str], list[str]]:
    """The candidates that training texts have clearly more often in one of two labels: of the `positive` one, of the
    other; the most frequent first."""
    counts = {word: np.zeros(2) for word in candidates}
    for text, label in zip(texts, labels, strict=True):
        for word in counts.keys() & set(re.findall(r"[a-z]+", text.lower())):
            counts[word][int(label == positive)] += 1
    sizes = np.maximum(np.array([(labels != positive).sum(), (labels == positive).sum()]), 1)
    sides: tuple[list[str], list[str]] = ([], [])
    for word, count in sorted(counts.items(), key=lambda item: -item[1].sum()):
        rates = count / sizes
        share = rates[1] / rates.sum() if rates.sum() else 0.5
        most = round(max(share, 1 - share) * count.sum())
        if max(share, 1 - share) >= ONE_SIDED and interval(int(most), int(count.sum())).low > 0.5:
            sides[int(share < 0.5)].append(word)
    return sides[0][:MOST_ADJECTIVES], sides[1][:MOST_ADJECTIVES]


def minimal_pairs(
    subject: Subject,
    positive: int,
    adjectives: tuple[list[str], list[str]],
    seed: int,
    dense: Subject | None = None,
) -> MinimalPairs:
    """What a model of two labels says of every form of every adjective; `adjectives`: good ones and bad ones. `dense`:
    an ordinary model to hold it against."""
    words = [(word, label) for side, label in zip(adjectives, (positive, 1 - positive), strict=True) for word in side]
    asked = [(of, word, label) for word, label in words for of in SUBJECTS]
    labels = np.array([label for _, _, label in asked])
    owner = np.array([[word for word, _ in words].index(word) for _, word, _ in asked])
    found = {name: _contributions(subject, form, asked, labels) for name, form in FORMS.items()}
    plain = found[PLAIN]
    right = plain.margin > 0
    follow = {name: (said.margin < 0) == FORMS[name].negates for name, said in found.items()}
    named = {name: _is_named(said, plain) for name, said in found.items()}
    dense_right = {name: np.zeros(len(asked), dtype=bool) for name in FORMS}
    if dense is not None:
        margins = {name: _margin(dense, form, asked, labels) for name, form in FORMS.items()}
        both = {name: (margin < 0) == FORMS[name].negates for name, margin in margins.items()}
        dense_right = {name: both[name] & both[PLAIN] for name in FORMS}

    def figures(name: str, inside: np.ndarray) -> FormFigures:
        said = found[name]
        columns = [
            np.where(right, follow[name], np.nan),
            said.margin - plain.margin,
            said.difference,
            said.adjective - plain.adjective,
            np.where(plain.adjective != 0, plain.adjective * said.adjective < 0, np.nan),
            np.divide(np.abs(said.difference), said.size, out=np.full_like(said.size, np.nan), where=said.size > 0),
            np.full(len(asked), np.nan) if name == PLAIN else named[name].astype(float),
            np.where(dense_right[name], follow[name], np.nan),
        ]
        return FormFigures(*estimates(np.stack(columns, 1)[inside], owner[inside], seed))

    sides = {"positive": labels == positive, "negative": labels != positive}
    forms = {name: {side: figures(name, inside) for side, inside in sides.items() if inside.any()} for name in FORMS}
    negating = [name for name, form in FORMS.items() if form.negates]
    over_all = [
        np.concatenate([np.where(dense_right[name], follow[name], np.nan) for name in negating]),
        np.concatenate([named[name] for name in negating]).astype(float),
    ]
    negated, spoken = estimates(np.stack(over_all, 1), np.tile(owner, len(negating)), seed)
    count = sum(int(dense_right[name].sum()) for name in negating)
    return MinimalPairs(forms, *adjectives, float(right.mean()), len(asked), negated, count, spoken)


def _is_named(said: _Contributions, plain: _Contributions) -> np.ndarray:
    """(N,) bool: whether the words that make the difference speak, or their deletion, which leaves the plain sentence,
    acts."""
    acts = np.maximum(np.abs(said.difference), np.abs(said.margin - plain.margin))
    return acts >= SHOWN_FROM * np.maximum(said.largest, acts).clip(min=np.finfo(float).tiny)


def _margin(subject: Subject, form: Form, asked: Sequence[tuple[str, str, int]], labels: np.ndarray) -> np.ndarray:
    """(N,) the logit of the adjective's label less the other's, of any model."""
    logits = subject.logits([form.text(of, word)[0] for of, word, _ in asked]).numpy()
    rows = np.arange(len(labels))
    return logits[rows, labels] - logits[rows, 1 - labels]


@dataclass(frozen=True)
class _Contributions:
    """Of sentences of one form, (N,) each, for the adjective's label less the other."""

    margin: np.ndarray
    """The difference of logits."""
    difference: np.ndarray
    """Contribution of the words that make the difference."""
    adjective: np.ndarray
    size: np.ndarray
    """Σ|contribution| of all words …"""
    largest: np.ndarray
    """… and the largest of them."""


def _contributions(
    subject: Subject, form: Form, asked: Sequence[tuple[str, str, int]], labels: np.ndarray
) -> _Contributions:
    written = [form.text(of, word) for of, word, _ in asked]
    texts = [WordText.of(text) for text, _, _ in written]
    explainer = EXPLAINERS.get("dla")(ExplainerParts())
    own, other = (explainer.explain(subject, texts, of.tolist()) for of in (labels, 1 - labels))
    rows = []
    for text, (_, marked, adjective), one, two in zip(texts, written, own, other, strict=True):
        scores = one.scores - two.scores  # (W,)
        at_difference = np.array([any(_overlap(span, each) for each in marked) for span in text.spans])
        at_adjective = np.array([_overlap(span, adjective) for span in text.spans])
        margin = (one.total or 0.0) - (two.total or 0.0)
        sizes = np.abs(scores)
        parts = scores[at_difference].sum(), scores[at_adjective].sum()
        rows.append([margin, *parts, sizes.sum(), sizes.max(initial=0.0)])
    return _Contributions(*np.array(rows).T)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
