"""Balanced training, the oracle: labels that say nothing of groups, which nobody has where labels are biased."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from splade.studies.conditions.base import CONDITIONS, Condition
from splade.studies.conditions.coded import CodedTexts

ROUNDS = 100
"""Of the fitting of weights, in each of which every group is balanced once."""

MOST_WEIGHT = 20.0
"""Of a text, in units of the mean: a group nearly all of whose texts have one label would else rest on a few texts."""


@CONDITIONS.register("balanced")
class Balanced(Condition):
    """The head learns again on texts weighed so that groups and labels are independent."""

    title = "balanced refit (oracle)"
    about = (
        "Nothing is removed; the head learns again on texts weighed so that every group has the overall share of "
        "positives."
    )
    refits = True

    def text_weights(self, part: CodedTexts) -> np.ndarray | None:
        return balancing_weights(part.positive, part.members)


def balancing_weights(positive: np.ndarray, members: Mapping[str, np.ndarray]) -> np.ndarray:
    """(N,) weights of mean 1 under which the share of positives is the same in every group as overall.

    Groups overlap, so that they are fitted in turn (iterative proportional fitting, Deming and Stephan 1940): the texts
    of a group with either label are scaled to what they should weigh together, w ← w · P(y)·W_g / W_gy.
    """
    weights, share = np.ones(len(positive)), float(positive.mean())
    for _ in range(ROUNDS):
        for inside in members.values():
            total = weights[inside].sum()
            for label, wanted in ((True, share), (False, 1 - share)):
                rows = inside & (positive == label)
                if rows.any() and total > 0:
                    weights[rows] *= wanted * total / weights[rows].sum()
        weights = np.minimum(weights / weights.mean(), MOST_WEIGHT)
    found: np.ndarray = weights / weights.mean()
    return found
