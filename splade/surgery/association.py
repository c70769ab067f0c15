"""How much oftener a thing is in texts with a concept than in texts without it, and whether chance could do that.

Texts are compared within strata, such as their class: an insult is frequent in texts about a group that is insulted,
and says nothing of the group. And they are compared by how much is in them, since in long texts everything is likelier.
Within a stratum let x₁ texts with the concept have the thing, and n₁ things be in these texts altogether; x₀ and n₀ of
the texts without it:

    δ_k = log (x₁ + α)/(n₁ − x₁ + m − α) − log (x₀ + α)/(n₀ − x₀ + m − α)        α = m·(x₁ + x₀)/(n₁ + n₀)
    v_k = 1/(x₁ + α) + 1/(n₁ − x₁ + m − α) + 1/(x₀ + α) + 1/(n₀ − x₀ + m − α)

the log-odds ratio with a prior: as much as there is in ten texts, in which the thing is as frequent as in all (Monroe,
Colaresi and Quinn 2008), so that a thing of three texts does not win by its rarity. Over strata δ = Σ δ_k/v_k / Σ 1/v_k
with variance 1/Σ 1/v_k, and z = δ·√(Σ 1/v_k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

PRIOR_TEXTS = 10.0
"""As many texts of mean size, of the concept and of the others, are taken to be like all."""

FALSE_DISCOVERIES = 0.01
"""Share of the names admitted that may be there by chance (Benjamini and Hochberg 1995): of a hundred, one."""

Matrix = Any
"""(T, K) a sparse matrix of scipy, which is slow to load."""


@dataclass(frozen=True)
class Association:
    """Of K things."""

    with_it: np.ndarray
    """(K,) texts with the concept that have the thing."""
    without: np.ndarray
    """(K,) texts without the concept that have it."""
    log_odds: np.ndarray
    """(K,) δ."""
    z: np.ndarray
    """(K,) δ in standard errors."""

    @property
    def error(self) -> np.ndarray:
        """(K,) the standard error of δ."""
        return np.divide(self.log_odds, self.z, out=np.full_like(self.z, np.inf), where=self.z != 0)


def association(there: Matrix, concept: np.ndarray, stratum: np.ndarray, amount: np.ndarray) -> Association:
    """How things that are or are not in texts, (T, K), go with a concept (T,), within strata (T,) of the texts.

    `amount` (T,): how many things are in each text altogether.
    """
    present = there.astype(bool).astype(np.float64).tocsr()
    weighted, weight = np.zeros(present.shape[1]), np.zeros(present.shape[1])
    for number in np.unique(stratum):
        rows, others = concept & (stratum == number), ~concept & (stratum == number)
        if not amount[rows].any() or not amount[others].any():
            continue  # of such a stratum nothing can be told
        prior = PRIOR_TEXTS * float(amount[rows | others].mean())
        x1, x0 = _count(present, rows), _count(present, others)
        delta, variance = _log_odds(x1, x0, float(amount[rows].sum()), float(amount[others].sum()), prior)
        weighted += delta / variance
        weight += 1 / variance
    known = weight > 0
    delta = np.divide(weighted, weight, out=np.zeros_like(weight), where=known)
    return Association(_count(present, concept), _count(present, ~concept), delta, delta * np.sqrt(weight))


def admitted(z: np.ndarray, share: float = FALSE_DISCOVERIES) -> np.ndarray:
    """(K,) bool: which of K one-sided tests may be believed, so that no more than a share of them is there by chance:
    those up to the largest i whose i-th smallest p-value is at most share·i/K."""
    chance = np.array([0.5 * math.erfc(each / math.sqrt(2)) for each in z.tolist()])  # (K,)
    order = np.argsort(chance, kind="stable")
    passed = np.flatnonzero(chance[order] <= share * np.arange(1, len(z) + 1) / max(len(z), 1))
    found = np.zeros(len(z), dtype=bool)
    found[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return found


def _count(present: Matrix, rows: np.ndarray) -> np.ndarray:
    return np.asarray(present[rows].sum(0)).ravel()


def _log_odds(x1: np.ndarray, x0: np.ndarray, n1: float, n0: float, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """δ and its variance (K,)."""
    like_all = prior * (x1 + x0) / (n1 + n0)
    # Of what is in none of the texts the prior says 0, of what is all there is in them m, and logarithms are finite.
    like_all = np.clip(like_all, prior / (n1 + n0), prior - prior / (n1 + n0))
    cells = [x1 + like_all, n1 - x1 + prior - like_all, x0 + like_all, n0 - x0 + prior - like_all]
    delta = np.log(cells[0] / cells[1]) - np.log(cells[2] / cells[3])
    return delta, sum(1 / each for each in cells)
