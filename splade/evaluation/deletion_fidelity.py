"""Deletion fidelity: is what an explanation says of a word what deleting the word from the text does?

    effect(w) = logit(text) − logit(text without w),    share(w) = what the explanation gives to w

both for one class. Words interact, so that no additive explanation reaches 1 on every text; how far each comes is
measured alike for all explainers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import Interval
from splade.evaluation.bootstrap import intervals
from splade.explainers import CHANCE_DRAWS, Subject, WordText

SILENT = 1e-6
"""|share| up to which a word says nothing."""

LOUD = 0.3
"""|share| from which a word is heard: its sign can then be expected to be that of the effect."""


@dataclass(frozen=True)
class WordEffects:
    """Some words of one text: what an explanation gives to each, and what deleting each does."""

    shares: np.ndarray
    """(W,)."""
    effects: np.ndarray
    """(W,)."""


@dataclass(frozen=True)
class DeletionFidelity:
    """How well shares say what deleting words does; a figure is None where nothing was there to compare."""

    pearson: float | None
    r2: float | None
    """1 − Σ(effect − share)²/Σ(effect − mean effect)²: shares are compared as they are, not up to a scale."""
    tau: float | None
    """Mean over texts of Kendall's τ-b between the ranks of words by share and by effect; a text whose words have all
    one share has no ranks, and counts as 0: it says nothing of the order."""
    top_word: float | None
    """Share of texts in which the word with the highest share is the one whose deletion lowers the logit most."""
    right_sign: float | None
    """Among words that are heard, |share| > 0.3: how often deletion has the sign of the share."""
    silent_effect: float | None
    """Share of all |effect| on words that the explanation gives nothing."""
    texts: int
    words: int
    intervals: dict[str, Interval]
    """95 % intervals by bootstrap over texts, of the figures by name."""


FIGURES = ("pearson", "r2", "tau", "top_word", "right_sign", "silent_effect")


def deletion_fidelity(texts: Sequence[WordEffects], seed: int = 0) -> DeletionFidelity:
    """The figures of some texts; those with fewer than two words are left out: they have no order."""
    return mean_fidelity([texts], seed)


def mean_fidelity(draws: Sequence[Sequence[WordEffects]], seed: int = 0) -> DeletionFidelity:
    """The figures of several draws of shares for the same words of the same texts: of each text, the mean of the sums
    that figures are made of."""
    compared = [[text for text in texts if len(text.shares) > 1] for texts in draws]
    texts, words = len(compared[0]), sum(len(text.shares) for text in compared[0])
    if not texts:
        return DeletionFidelity(None, None, None, None, None, None, texts=0, words=0, intervals={})
    terms = np.mean([[_terms(text) for text in of_draw] for of_draw in compared], 0)  # (T, 14)
    values, ends = intervals(terms, np.arange(texts), _figures, seed)
    found = {name: float(value) if np.isfinite(value) else None for name, value in zip(FIGURES, values, strict=True)}
    spread = {name: end for name, end in zip(FIGURES, ends, strict=True) if found[name] is not None}
    return DeletionFidelity(**found, texts=texts, words=words, intervals=spread)


def chance_fidelity(texts: Sequence[WordEffects], seed: int = 0) -> DeletionFidelity:
    """The same figures when the shares of each text are given to its words by chance, mean of several draws: as many
    words are loud and as many silent, and what is left is what knowing the right word is not needed for."""
    generator = np.random.default_rng(seed)
    draws = [
        [WordEffects(generator.permutation(text.shares), text.effects) for text in texts] for _ in range(CHANCE_DRAWS)
    ]
    return mean_fidelity(draws, seed)


def kendall_tau(text: WordEffects) -> float:
    """τ-b of one text with two words or more; 0 where its words have no order."""
    from scipy.stats import kendalltau  # takes half a second to load, and most commands do not need it

    ordered = np.ptp(text.shares) > 0 and np.ptp(text.effects) > 0
    return float(kendalltau(text.shares, text.effects).statistic) if ordered else 0.0


def _terms(text: WordEffects) -> np.ndarray:
    """(14,) sums over the words of a text, from which every figure of many texts follows."""
    share, effect, tau = text.shares.astype(float), text.effects.astype(float), kendall_tau(text)
    best = np.flatnonzero(share == share.max())  # where several share the highest, a reader would pick any of them
    top = float(np.mean(effect[best] == effect.max()))
    loud, silent = np.abs(share) > LOUD, np.abs(share) <= SILENT
    products = (share, effect, share**2, effect**2, share * effect, (effect - share) ** 2)
    return np.array(
        [
            *(len(share), *(product.sum() for product in products)),
            *(1.0, tau, top),
            *(loud.sum(), (loud & (np.sign(share) == np.sign(effect))).sum()),
            *(np.abs(effect).sum(), np.abs(effect[silent]).sum()),
        ]
    )


def _figures(sums: np.ndarray) -> np.ndarray:
    """(D, 6) figures of sums (D, 14)."""
    n, share, effect, share2, effect2, product, gap, texts, tau, top, loud, right, size, silent = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(effect2 - effect**2 / n, 0)
        scale = np.sqrt(np.maximum(share2 - share**2 / n, 0) * spread)
        pearson = np.where(scale > 0, (product - share * effect / n) / scale, np.nan)
        r2 = np.where(spread > 0, 1 - gap / spread, np.nan)
        return np.stack([pearson, r2, tau / texts, top / texts, right / loud, silent / size], 1)


def deletion_effects(
    subject: Subject,
    texts: Sequence[WordText],
    classes: Sequence[int],
    words: Sequence[np.ndarray],
    advance: Callable[[int], None] = lambda texts: None,
) -> list[np.ndarray]:
    """What deleting each of some `words`, by number, takes from the class's logit: (K,) a text."""
    effects = []
    for text, label, chosen in zip(texts, classes, words, strict=True):
        shorter = [text.without([int(word)]) for word in chosen]
        logits = subject.logits([text.text, *shorter])[:, label].double().numpy()
        effects.append(logits[0] - logits[1:])
        advance(1)
    return effects


def read_words(subject: Subject, texts: Sequence[WordText]) -> list[np.ndarray]:
    """The words of each text that the model reads, by number: those beyond its limit have no say and no share."""
    seen: dict[int, np.ndarray] = {}
    for batch in subject.read(texts):
        for n, row in enumerate(batch.rows):
            words = np.unique(batch.words[n].cpu().numpy())
            seen[row] = words[words >= 0]
    return [seen[row] for row in range(len(texts))]
