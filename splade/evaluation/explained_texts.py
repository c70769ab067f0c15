"""Explainers at work on one model: the same texts, words and classes for all, what each says of them, and its cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from splade.data.rationales import rationale_texts
from splade.data.splits import TEST_SEED
from splade.evaluation.deletion_fidelity import deletion_effects, read_words
from splade.evaluation.measure import Scope
from splade.evaluation.word_faithfulness import word_changes
from splade.explainers import Explainer, ExplainerParts, Subject, WordText

T = TypeVar("T")

WORDS_DELETED = 40
"""Words deleted one at a time of a text, drawn at random of those of a longer one, as in the measure `deletion`."""

POSITIONS = 4_000_000
"""Positions that a model reads for one explainer, minutes on two cores. Of long texts a slow one explains fewer."""

SEEDS = 5
"""Seeds that the ranks of words are compared over."""

QUICK = 2
"""Readings of a text up to which an explainer is timed three times, the best of which counts: a moment in which the
machine does something else is as long as all it does."""

STABILITY_POSITIONS = 1_000_000
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
class Explained:
    """What one explainer says of the first n texts, and what came of it."""

    scores: list[list[float]]
    """Of the words of each text."""
    totals: list[float] | None
    """(n,) the logits as the explanations have them; None: it makes no such claim."""
    changes: list[list[float]]
    """(n, 2 or 4) the `CHANGES` when words are taken in its order; without a mask token, the first two."""
    stability: float | None
    """Mean rank correlation of a text's words between seeds; 1: it draws nothing. None: no text has ranks."""
    stability_texts: int
    """That was measured on; 0: it draws nothing."""
    passes: float
    """Texts read, forward or backward, to explain one."""
    seconds: float
    """To explain one."""


def explained(
    explainer: Explainer, subject: Subject, compared: ComparedTexts, decisions: Decisions, most: int, most_stable: int
) -> Explained:
    """Have up to `most` texts explained, as many of them as are affordable; up to `most_stable` with other seeds."""
    readings = [explainer.readings(len(text)) for text in compared.texts]
    n = min(most, compared.affordable(readings))
    texts, classes, seed = compared.texts[:n], decisions.classes[:n], explainer.parts.seed
    quick = replace(explainer.parts, lime_samples=10, steps=1)
    type(explainer)(quick).explain(subject, texts[:1], classes[:1])  # or loading a library were taken for its cost
    passes = subject.passes
    seconds, found = _timed(lambda: explainer.explain(subject, texts, classes))
    passes = subject.passes - passes
    if max(readings[:n]) <= QUICK:
        seconds = min(seconds, *(_timed(lambda: explainer.explain(subject, texts, classes))[0] for _ in range(2)))
    scores, totals = [one.scores for one in found], [one.total for one in found]
    changes = word_changes(subject, texts, classes, scores, seed)
    again = min(n, most_stable, compared.affordable([(SEEDS - 1) * times for times in readings], STABILITY_POSITIONS))
    return Explained(
        scores=[each.tolist() for each in scores],
        totals=[total for total in totals if total is not None] if None not in totals else None,
        changes=changes[:, ~np.isnan(changes).all(0)].tolist(),
        stability=_stability(explainer, subject, texts[:again], classes[:again], scores) if explainer.draws else 1.0,
        stability_texts=again if explainer.draws else 0,
        passes=passes / n,
        seconds=seconds / n,
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds that some work takes, and what comes of it."""
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def _stability(
    explainer: Explainer,
    subject: Subject,
    texts: Sequence[WordText],
    classes: Sequence[int],
    first: Sequence[np.ndarray],
) -> float | None:
    """Mean over texts and pairs of seeds of the rank correlation; `first`: what the explainer's own seed gave."""
    runs = [first[: len(texts)]]
    for further in range(1, SEEDS):
        parts: ExplainerParts = replace(explainer.parts, seed=explainer.parts.seed + further)
        runs.append([one.scores for one in type(explainer)(parts).explain(subject, texts, classes)])
    found = [mean_rank_correlation([run[n] for run in runs]) for n in range(len(texts))]
    return float(np.nanmean(found)) if not np.isnan(found).all() else None


def mean_rank_correlation(runs: Sequence[np.ndarray]) -> float:
    """Spearman's ρ between several scores (W,) of the same words, mean over pairs; NaN where one has no ranks."""
    from scipy.stats import rankdata  # takes half a second to load, and most commands do not need it

    ranks = np.stack([rankdata(scores) for scores in runs])  # (S, W)
    if (np.ptp(ranks, 1) == 0).any():
        return float("nan")
    return float(np.corrcoef(ranks)[np.triu_indices(len(ranks), 1)].mean())
