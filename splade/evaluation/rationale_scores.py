"""How well scores of a text's words agree with the words that people marked. All for one text: (W,) marks and scores.

The headline is average precision. The area under the same curve by the trapezoid rule, as ERASER has it, stands in
`rationale_protocols` only: it draws a straight line to (recall 0, precision 1), and so gives an explanation that says
nothing at all about two thirds.
"""

from __future__ import annotations

import numpy as np

PHRASE = 1.5
"""Words: between what validation texts are best met by, 1 of HateXplain (average precision of ours 0.745; 1.5: 0.744,
2: 0.741) and 2 of ERASER's reviews."""


def average_precision(gold: np.ndarray, scores: np.ndarray) -> float:
    """AP = Σ_n (R_n − R_{n−1})·P_n over the different scores, as scikit-learn has it: words with the same score come
    together. Scores that are all the same get the share of words marked."""
    found, taken = _curve(gold, scores)
    gained = np.diff(found, prepend=0)
    return float((gained * found / taken).sum() / found[-1])


def expected_average_precision(gold: np.ndarray, scores: np.ndarray) -> float:
    """Average precision if words with the same score came in random order, in the mean over all such orders.

    An explanation that scores every word differently is read in some order anyway, and so gains by chance: random
    scores have an AP above the share of words marked. This gives the same chance to one that has many zeros.

    In a group of n words with r marked, behind N words with R marked, place i (from 1) holds a marked word with chance
    r/n, and then R + 1 + (i − 1)·(r − 1)/(n − 1) of the words up to there are marked in the mean (McSherry and Najork
    2008, doi:10.1007/978-3-540-78646-7_38).
    """
    found, taken = _curve(gold, scores)
    total = 0.0
    for before_found, before, marked, end in zip(
        np.concatenate([[0], found[:-1]]),
        np.concatenate([[0], taken[:-1]]),
        np.diff(found, prepend=0),
        taken,
        strict=True,
    ):
        size = end - before
        place = np.arange(1, size + 1)
        up_to = before_found + 1 + (place - 1) * ((marked - 1) / (size - 1) if size > 1 else 0.0)
        total += marked / size * (up_to / (before + place)).sum()
    return float(total / found[-1])


def token_f1(gold: np.ndarray, scores: np.ndarray, words: int) -> float:
    """F1 of the `words` highest scores; which of equal scores are among them is left to chance, and F1 is the mean."""
    threshold = np.sort(scores)[len(scores) - words]
    above, tied = scores > threshold, scores == threshold
    hits = gold[above].sum() + gold[tied].mean() * (words - above.sum())
    return float(2 * hits / (words + gold.sum()))


def spread_over_phrases(scores: np.ndarray) -> np.ndarray:
    """(W,) for each word the mean score of the words around it, weighted by a Gaussian of PHRASE words:

        spread[i] = Σ_j g(i − j)·scores[j] / Σ_j g(i − j),   g(x) = exp(−x² / (2·PHRASE²))

    People mark phrases, and an explanation that names the one word that decides names where they are. It helps every
    explainer, those by chance too, so it is a column beside the words' own and never in their place.
    """
    reach = int(4 * PHRASE)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / PHRASE) ** 2)
    inside = slice(reach, reach + len(scores))
    total, mass = (np.convolve(each, weights)[inside] for each in (scores, np.ones(len(scores))))
    means: np.ndarray = total / mass
    return means


def share_of_words(share: float, words: int) -> int:
    """How many words a share of a text's are: at least one."""
    return max(1, round(share * words))


def _curve(gold: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(T,) marked words, and words, among those with at least the score, for each different one, the highest first."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.diff(scores[order], append=np.inf))  # the last word of each score
    return np.cumsum(gold[order])[last], last + 1
