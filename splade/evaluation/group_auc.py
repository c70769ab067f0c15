"""Areas under the ROC curve of groups, which no threshold decides (Borkan et al. 2019, arXiv:1903.04561).

Of a positive and a negative text drawn at random, how often has the positive one the higher score, …

- subgroup: both about the group: can the model tell them apart at all?
- BPSN: a positive text of the background (not about the group), a negative one about the group. Low: harmless texts
  about the group score as high as harmful ones about others, so that they are flagged wrongly.
- BNSP: a negative text of the background, a positive one about the group. Low: harm to the group is overlooked.

Over groups, the generalised mean M_p = (1/G · Σ m^p)^(1/p) with p = −5 follows the worst of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import Interval
from splade.evaluation.bootstrap import draws, percentile_intervals
from splade.evaluation.estimate import Estimate

POWER = -5.0
"""Of the mean over groups: that of the published figures."""


@dataclass(frozen=True)
class GroupAUC:
    """Of one group; None: it, or the background, has no text of the label needed."""

    subgroup: Estimate | None
    bpsn: Estimate | None
    bnsp: Estimate | None


@dataclass(frozen=True)
class AUCs:
    """Of all texts and all groups, or what one condition has less another."""

    overall: Estimate | None
    groups: dict[str, GroupAUC]
    mean: GroupAUC
    """The power means over groups with enough positive and enough negative texts; None: there are none."""
    combined: Estimate | None
    """The mean of the overall one and the three power means: the figure of the published competition."""


def power_mean(values: np.ndarray, power: float = POWER) -> np.ndarray:
    """(D,) of values (D, G); a value of 0 makes it 0. NaN where there are no values, or one is NaN."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    least = values.min(-1, keepdims=True)  # taken out, so that no power of a small number overflows
    scaled = np.divide(values, least, out=np.ones_like(values), where=least > 0)
    return least[..., 0] * (scaled**power).mean(-1) ** (1 / power)


def group_aucs(
    scores: Sequence[np.ndarray],
    positive: np.ndarray,
    members: np.ndarray,
    names: Sequence[str],
    *,
    powered: np.ndarray,
    texts: np.ndarray | None = None,
    seed: int = 0,
) -> tuple[list[AUCs], list[AUCs]]:
    """The areas of every condition, and what each but the first has less the first, from the same draws of texts.

    Args:
        scores: (N,) of each condition.
        positive: (N,) bool.
        members: (N, G) bool.
        powered: (G,) bool, the groups that the power means are of.
        texts: (N,) rows that are drawn together have the same; None: each is drawn for itself.
    """
    rows = len(positive)
    _, text = np.unique(np.arange(rows) if texts is None else texts, return_inverse=True)
    areas = [_Areas(each, positive, members) for each in scores]

    def figures(times: np.ndarray) -> np.ndarray:
        every = [_with_means(each.of(times), powered) for each in areas]
        return np.stack([*every, *(other - every[0] for other in every[1:])], axis=1)  # (D, 2·C − 1, M)

    drawn = np.concatenate([figures(times[:, text]) for times in draws(int(text.max()) + 1, seed)])
    point = figures(np.ones((1, rows)))[0]
    found = [
        _named(of_condition, percentile_intervals(drawn[:, number]), names) for number, of_condition in enumerate(point)
    ]
    return found[: len(scores)], found[len(scores) :]


def _with_means(areas: np.ndarray, powered: np.ndarray) -> np.ndarray:
    """(D, 1 + 3·G + 4) of areas (D, 1 + 3·G): behind them the power means, and the mean of these and the first."""
    kinds = areas[:, 1:].reshape(len(areas), 3, -1)[:, :, powered]  # (D, 3, P)
    means = power_mean(kinds)  # (D, 3)
    combined = (areas[:, :1] + means.sum(1, keepdims=True)) / 4
    return np.hstack([areas, means, combined])


def _named(values: np.ndarray, within: Sequence[Interval], names: Sequence[str]) -> AUCs:
    estimates = [
        None if np.isnan(value) else Estimate(float(value), each.low, each.high)
        for value, each in zip(values, within, strict=True)
    ]
    overall, *of_groups = estimates[:-4]
    kinds = [of_groups[start : start + len(names)] for start in range(0, 3 * len(names), len(names))]
    groups = {name: GroupAUC(*of_group) for name, *of_group in zip(names, *kinds, strict=True)}
    return AUCs(overall, groups, GroupAUC(*estimates[-4:-1]), estimates[-1])


class Ranking:
    """Rows in the order of their scores, for weights that change from draw to draw."""

    def __init__(self, scores: np.ndarray):
        self.order = np.argsort(scores, kind="stable")
        _, self._starts, block = np.unique(scores[self.order], return_index=True, return_inverse=True)
        self._block = np.empty(len(scores), dtype=np.int64)
        self._block[self.order] = block

    def below(self, weights: np.ndarray) -> np.ndarray:
        """(D, n) for each row the weight (D, n) of the rows with lower scores, and half of that of its equals."""
        if not len(self.order):
            return weights
        blocks = np.add.reduceat(weights[:, self.order], self._starts, axis=1)  # (D, U)
        return (blocks.cumsum(1) - blocks / 2)[:, self._block]


class _Areas:
    """The areas of one condition, for any weights of the rows; a row a group costs as much as the group has rows."""

    def __init__(self, scores: np.ndarray, positive: np.ndarray, members: np.ndarray):
        self._positive = positive.astype(float)
        self._all = Ranking(scores)
        self._rows = [np.flatnonzero(inside) for inside in members.T]
        self._groups = [Ranking(scores[rows]) for rows in self._rows]

    def of(self, weights: np.ndarray) -> np.ndarray:
        """(D, 1 + 3·G): overall, subgroup of each group, BPSN of each, BNSP of each."""
        positive, negative = weights * self._positive, weights * (1 - self._positive)  # (D, N)
        positives, negatives = positive.sum(1), negative.sum(1)
        beaten = self._all.below(negative)  # by each row, of the negatives
        unbeaten = positives[:, None] - self._all.below(positive)  # of the positives, by which each row is beaten
        overall = _ratio((positive * beaten).sum(1), positives * negatives)
        kinds: tuple[list[np.ndarray], ...] = ([], [], [])
        for rows, ranking in zip(self._rows, self._groups, strict=True):
            own_positive, own_negative = positive[:, rows], negative[:, rows]
            of_positive, of_negative = own_positive.sum(1), own_negative.sum(1)
            both = (own_positive * ranking.below(own_negative)).sum(1)
            bpsn = (own_negative * unbeaten[:, rows]).sum(1) - both
            bnsp = (own_positive * beaten[:, rows]).sum(1) - both
            for kind, part, total in zip(
                kinds,
                (both, bpsn, bnsp),
                (
                    of_positive * of_negative,
                    of_negative * (positives - of_positive),
                    of_positive * (negatives - of_negative),
                ),
                strict=True,
            ):
                kind.append(_ratio(part, total))
        return np.stack([overall, *kinds[0], *kinds[1], *kinds[2]], axis=1)


def _ratio(part: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.divide(part, total, out=np.full(part.shape, np.nan), where=total > 0)
