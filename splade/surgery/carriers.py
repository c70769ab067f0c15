"""The names that carry a concept in a model, found and ranked by what they do in texts with it and in texts without.

A name is believed when its activity goes with the concept beyond chance (`splade.surgery.association`), surely `odds`
times as often, and not only by what fires where names above it stand: *came*, which speaks for *coming*, is no reason
of its own. What fires where a *seed* stands stays a reason: that is how the model says the seed. Names rank by

    score = low · (mean |contribution| in texts with the concept − the same in texts without)

where low is the lower end of the log-odds ratio's 95 % interval: what is rare, common to all texts, or silent is low.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from splade.surgery.association import Association, admitted, association
from splade.surgery.spoken import Matrix, Spoken

FEWEST_WITH = 5
"""Texts with the concept in which a name must be active: what fewer show, the next texts would not."""

SURE = 1.96
"""Standard errors between an estimate and the end of its 95 % interval."""


@dataclass(frozen=True)
class Carrier:
    """A name, and how it goes with the concept."""

    name: str
    """In lower case; of a token that is no word, as the tokenizer writes it."""
    seed: bool
    """Whether it was asked for."""
    with_it: int
    """Texts with the concept in which it is active: its column anywhere or, where words are silenced, anything where
    it stands."""
    without: int
    """The same of texts without."""
    log_odds: float
    """How much oftener it is active in texts with the concept, within a class and for as much as is said."""
    low: float
    """The lower end of its 95 % interval."""
    contribution_with: float
    """Mean |contribution| to the predicted class's logit, over all texts with the concept."""
    contribution_without: float
    score: float
    left: dict[str, float]
    """By label, the share of all that speaks for it, where it is predicted, that is left without this name and those
    above it."""


def comparable(concept: np.ndarray, classes: np.ndarray) -> bool:
    """Whether some class (T,) has enough texts with the concept (T,) and without it to compare within classes."""
    both = (np.bincount(classes, concept) >= FEWEST_WITH) & (np.bincount(classes, ~concept) >= FEWEST_WITH)
    return bool(both.any())


@dataclass(frozen=True)
class Texts:
    """Texts that are compared."""

    concept: np.ndarray
    """(T,) bool, whether each has the concept."""
    stratum: np.ndarray
    """(T,) the part that it is compared within."""
    amount: np.ndarray
    """(T,) names that have something in their hands in it."""

    def having(self, things: Matrix) -> Association:
        """How things (T, K) go with the concept."""
        return association(things, self.concept, self.stratum, self.amount)


def rank_carriers(
    spoken: Spoken,
    concept: np.ndarray,
    stratum: np.ndarray,
    labels: Sequence[str],
    *,
    odds: float,
    seeds: Sequence[str] = (),
    reachable: Callable[[str], bool] = lambda name: True,
    silence: bool = True,
) -> tuple[list[Carrier], int]:
    """The carriers of a concept (T,), the strongest first, and how many names were tested.

    Args:
        stratum: (T,) parts of the texts that are compared within.
        odds: how many times as often a name must surely be active in texts with the concept.
        seeds: names that come first, whatever they do.
        reachable: whether a name can be removed.
        silence: whether removing a name also silences the word.
    """
    silent = [seed for seed in dict.fromkeys(seeds) if seed not in set(spoken.names)]
    spoken = replace(spoken, names=[*spoken.names, *silent])
    active, said = spoken.in_hands(silence=silence)
    texts = Texts(concept, stratum, active.getnnz(1))
    found = texts.having(active)
    size = abs(said)
    loud, quiet = (np.asarray(size[rows].mean(0)).ravel() for rows in (concept, ~concept))  # (K,) each
    low = found.log_odds - SURE * found.error
    score = np.where(np.isfinite(low), low * (loud - quiet), -np.inf)
    enough = np.flatnonzero(found.with_it >= FEWEST_WITH)
    believed = enough[admitted(found.z[enough])]
    least = float(found.z[believed].min()) if len(believed) else math.inf
    numbers = {name: number for number, name in enumerate(spoken.names)}
    first = sorted({numbers[seed] for seed in seeds}, key=lambda number: -score[number])
    believed = np.setdiff1d(believed[low[believed] >= math.log(odds)], first)
    ordered = believed[np.argsort(-score[believed], kind="stable")].tolist()
    others = [each for each in ordered if reachable(spoken.names[each])]
    taken = first + _with_own_reasons(spoken, texts, others, least, silence)
    figures = (found.with_it, found.without, found.log_odds, low, loud, quiet, score)
    shares = _shares_left(spoken, taken, labels, silence)
    return [
        _carrier(spoken.names[number], number in first, [float(each[number]) for each in figures], left)
        for number, left in zip(taken, shares, strict=True)
    ], len(enough)


def _carrier(name: str, seed: bool, figures: Sequence[float], left: dict[str, float]) -> Carrier:
    with_it, without, log_odds, low, loud, quiet, score = figures
    return Carrier(name, seed, int(with_it), int(without), log_odds, low, loud, quiet, score, left)


def _with_own_reasons(spoken: Spoken, texts: Texts, ranked: Sequence[int], least: float, silence: bool) -> list[int]:
    """Those of ranked names that are `least` standard errors above nothing by what no kept name above them has in its
    hands."""
    from scipy.sparse import csr_matrix  # slow to load

    kept, size = [], len(texts.concept)
    entries = spoken.only(np.isin(spoken.column, ranked) | np.isin(spoken.word, ranked))
    for number in ranked:
        own = (entries.column == number) | (silence & (entries.word == number))
        there = csr_matrix((entries.value[own], (entries.text[own], np.zeros(own.sum(), dtype=int))), shape=(size, 1))
        found = texts.having(there)
        if found.with_it[0] >= FEWEST_WITH and found.z[0] >= least:
            kept.append(number)
            entries = entries.only(~own)
    return kept


def _shares_left(spoken: Spoken, taken: Sequence[int], labels: Sequence[str], silence: bool) -> list[dict[str, float]]:
    """By label, what is left of Σ max(contribution, 0) over the texts where it is predicted, name after name."""
    speaks_for = np.maximum(spoken.contribution, 0)
    label = spoken.predicted[spoken.text]
    rank = np.full(len(spoken.names), len(taken))
    rank[list(taken)] = np.arange(len(taken))
    gone = np.minimum(rank[spoken.column], rank[spoken.word]) if silence else rank[spoken.column]  # (N,) by which name
    answers: list[dict[str, float]] = [{} for _ in taken]
    for number, name in enumerate(labels):
        of_label = label == number
        total = float(speaks_for[of_label].sum())
        lost = np.bincount(gone[of_label], speaks_for[of_label], len(taken) + 1)[: len(taken)].cumsum()
        for answer, amount in zip(answers, lost.tolist(), strict=True):
            if total > 0:
                answer[name] = max(0.0, 1 - amount / total)
    return answers
