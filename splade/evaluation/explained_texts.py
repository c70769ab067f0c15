"""Explainers at work on one model: the same texts, words and classes for all, what each says of them, and its cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from splade.data.rationales import rationale_texts
from splade.data.splits import TEST_SEED
from splade.evaluation.deletion_fidelity import deletion_effects, read_words
from splade.evaluation.measure import Scope
from splade.evaluation.word_faithfulness import word_changes
from splade.explainers import CHANCE_DRAWS, Explainer, Subject, WordScores, WordText

WORDS_DELETED = 40
"""Words deleted one at a time of a text, drawn at random of those of a longer one, as in the measure `deletion`."""

POSITIONS = 1_500_000
"""Positions that a model reads for one explainer, minutes on two cores. Of long texts a slow one explains fewer."""

SEEDS = 5
"""Seeds that the ranks of words are compared over."""

QUICK = 2
"""Readings of a text up to which an explainer is quick enough to be asked once before its time is taken."""

STABILITY_POSITIONS = 400_000
"""Positions read for the other seeds: each text gives ten pairs of them, so that few texts are enough."""


@dataclass(frozen=True)
class ComparedTexts:
    """The texts that all explainers are asked about; those that a slow one leaves out are the last."""

    texts: list[WordText]
    marked: list[np.ndarray | None]
    """(W,) bool a text: the words that people marked as the reason; None: nobody did, or all are marked."""

    @classmethod
    def of(cls, scope: Scope, subject: Subject, most: int) -> ComparedTexts:
        """Drawn of the rows explained, always the same; cut to what the model reads. Texts without words are left
        out. Where people marked words, these are the words: what stands between white space."""
        chosen = scope.rows[np.random.default_rng(TEST_SEED).permutation(len(scope.rows))[:most]]
        strings, split = scope.task.texts(chosen), scope.task.split
        if (rationales := rationale_texts(split.texts, split.extra)) is None:
            return cls.given(subject, [WordText.of(text) for text in strings])
        found = [rationales[row] for row in chosen]
        return cls.given(subject, [WordText(one.text, tuple(one.words)) for one in found], [one.gold for one in found])

    @classmethod
    def given(
        cls, subject: Subject, texts: Sequence[WordText], marked: Sequence[np.ndarray | None] | None = None
    ) -> ComparedTexts:
        """Texts with their words."""
        kept, of_kept = [], []
        for text, words, gold in zip(texts, read_words(subject, texts), marked or [None] * len(texts), strict=True):
            if len(words):
                end = int(words[-1]) + 1
                kept.append(text if end == len(text) else text.part(0, end))
                told_apart = gold is not None and 0 < gold[:end].sum() < end
                of_kept.append(gold[:end] if gold is not None and told_apart else None)
        return cls(kept, of_kept)

    def affordable(self, readings: Sequence[int], positions: int = POSITIONS) -> int:
        """How many of the texts, from the first on and one at least, may be read so often (N,) each."""
        lengths = np.array([len(text) + 2 for text in self.texts])  # about a piece a word, and the special tokens
        return max(1, int((np.cumsum(lengths * np.asarray(readings)) <= positions).sum()))


@dataclass(frozen=True)
class Decisions:
    """What one model says of the texts, and what deleting each word does to it."""

    classes: list[int]
    """(N,) decided on."""
    logits: list[float]
    """(N,) of these."""
    deleted: list[list[int]]
    """The words of each text that were deleted one at a time, by number."""
    effects: list[list[float]]
    """What that took from the logit."""

    @classmethod
    def of(cls, subject: Subject, texts: Sequence[WordText], seed: int) -> Decisions:
        generator, logits = np.random.default_rng(seed), subject.logits([text.text for text in texts])
        classes = logits.argmax(-1).tolist()
        deleted = [np.sort(generator.permutation(len(text))[:WORDS_DELETED]) for text in texts]
        effects = deletion_effects(subject, texts, classes, deleted)
        of_classes = [float(row[label]) for row, label in zip(logits, classes, strict=True)]
        return cls(classes, of_classes, [words.tolist() for words in deleted], [each.tolist() for each in effects])


@dataclass(frozen=True)
class Told:
    """What one explainer says of the first n texts, and what came of it."""

    scores: list[list[float]]
    """Of the words of each text."""
    changes: list[list[float]]
    """(n, 2 or 4) the `CHANGES` when words are taken in its order; without a mask token, the first two."""


@dataclass(frozen=True)
class Explained:
    """What one explainer says of the first n texts, at which cost."""

    told: list[Told]
    """Once; of one that goes by chance, several times, whose figures are averaged."""
    in_logits: bool
    """Whether its scores are parts of the logit; otherwise only their order means anything."""
    totals: list[float] | None
    """(n,) the logits as the explanations have them; None: it makes no such claim."""
    stability: float | None
    """Mean rank correlation of a text's words when it is explained again, with other seeds and among other texts; None:
    no text has ranks."""
    stability_texts: int
    """That was measured on."""
    passes: list[int]
    """(n,) texts read, forward or backward, to explain each."""
    seconds: list[float]
    """(n,) to explain each, alone: what somebody waits for who asks about one text."""

    def __len__(self) -> int:
        """How many texts."""
        return len(self.told[0].scores)


def explained(
    explainer: Explainer, subject: Subject, compared: ComparedTexts, decisions: Decisions, most: int, most_stable: int
) -> Explained:
    """Have up to `most` texts explained, as many of them as are affordable; up to `most_stable` with other seeds."""
    readings = [explainer.readings(len(text)) for text in compared.texts]
    n = min(most, compared.affordable(readings))
    texts, classes = compared.texts[:n], decisions.classes[:n]
    found, passes, seconds = _one_by_one(explainer, subject, texts, classes)
    again = min(n, most_stable, compared.affordable([(SEEDS - 1) * times for times in readings], STABILITY_POSITIONS))
    scores, totals = [one.scores for one in found], [one.total for one in found]
    told = [_told(explainer, subject, texts, classes, scores)]
    for other in explainer.other_seeds(CHANCE_DRAWS) if explainer.by_chance else ():
        drawn = [one.scores for one in other.explain(subject, texts, classes)]
        told.append(_told(other, subject, texts, classes, drawn))
    adds_up = explainer.in_logits and None not in totals
    return Explained(
        told=told,
        in_logits=explainer.in_logits,
        totals=[total for total in totals if total is not None] if adds_up else None,
        stability=_stability(explainer, subject, texts[:again], classes[:again], scores),
        stability_texts=again,
        passes=passes,
        seconds=seconds,
    )


def _one_by_one(
    explainer: Explainer, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]
) -> tuple[list[WordScores], list[int], list[float]]:
    """What is said of each text alone, with the passes and seconds that it took: the same for all explainers, whether
    or not they could do with several texts at a time."""
    warm = explainer  # or loading a library were taken for its cost
    if explainer.readings(len(texts[0])) > QUICK:
        warm = type(explainer)(replace(explainer.parts, lime_samples=10, steps=1))
    warm.explain(subject, texts[:1], classes[:1])
    found, passes, seconds = [], [], []
    for text, label in zip(texts, classes, strict=True):
        before, began = subject.passes, time.perf_counter()
        found += explainer.explain(subject, [text], [label])
        seconds.append(time.perf_counter() - began)
        passes.append(subject.passes - before)
    return found, passes, seconds


def _told(
    explainer: Explainer,
    subject: Subject,
    texts: Sequence[WordText],
    classes: Sequence[int],
    scores: Sequence[np.ndarray],
) -> Told:
    changes = word_changes(subject, texts, classes, scores, explainer.parts.seed)
    return Told([each.tolist() for each in scores], changes[:, ~np.isnan(changes).all(0)].tolist())


def _stability(
    explainer: Explainer,
    subject: Subject,
    texts: Sequence[WordText],
    classes: Sequence[int],
    first: Sequence[np.ndarray],
) -> float | None:
    """Mean over texts and pairs of seeds of the rank correlation; `first`: what the explainer's own seed gave.

    One that draws nothing is asked all the same: it now reads several texts at a time, and must say what it said.
    """
    runs = [first[: len(texts)]]
    for other in explainer.other_seeds(SEEDS):
        runs.append([one.scores for one in other.explain(subject, texts, classes)])
    found = [mean_rank_correlation([run[n] for run in runs]) for n in range(len(texts))]
    return float(np.nanmean(found)) if not np.isnan(found).all() else None


def mean_rank_correlation(runs: Sequence[np.ndarray]) -> float:
    """Spearman's ρ between several scores (W,) of the same words, mean over pairs; NaN where one has no ranks."""
    from scipy.stats import rankdata  # takes half a second to load, and most commands do not need it

    ranks = np.stack([rankdata(scores) for scores in runs])  # (S, W)
    if (np.ptp(ranks, 1) == 0).any():
        return float("nan")
    return float(np.corrcoef(ranks)[np.triu_indices(len(ranks), 1)].mean())
