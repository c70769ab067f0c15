"""Bias against groups: does a model err more often on texts that are about some people than on others?

`evaluate_bias` takes scores, labels and groups as arrays, of one condition (a model as it is) or of several on the same
texts (suppressed, refitted, …), which are then compared text by text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from splade.errors import DataError, listed
from splade.evaluation.estimate import Estimate, estimate
from splade.evaluation.group_auc import AUCs, group_aucs
from splade.evaluation.group_rates import FEWEST, Against, ErrorRates, RateChanges, RateTable
from splade.evaluation.thresholds import HALF, best_f1_threshold, fpr_threshold

ONLY = "model"
"""What a condition is called that is the only one."""

Scores = Mapping[str, np.ndarray]
"""(N,) by condition: how much speaks for the positive label, in log-odds or any other measure."""


@dataclass(frozen=True)
class GroupSize:
    """Texts about a group."""

    texts: int
    positives: int
    negatives: int


@dataclass(frozen=True)
class OperatingPoint:
    """A condition's decisions at one threshold."""

    threshold: float
    """Scores above it are positive."""
    accuracy: Estimate
    fpr: ErrorRates
    """False positives, of the negative texts."""
    fnr: ErrorRates
    """False negatives, of the positive texts."""


@dataclass(frozen=True)
class ConditionBias:
    """One condition."""

    fixed: OperatingPoint
    """At the threshold of the highest F1 on validation texts or, where none were given, at the given one."""
    matched: OperatingPoint
    """At the threshold that wrongly flags the same share of all negative texts in every condition: what only shifts the
    threshold changes nothing here. It is the one that is found on these texts."""
    auc: AUCs


@dataclass(frozen=True)
class PointChange:
    """What a condition's decisions have less those of the first, on the same texts."""

    accuracy: Estimate
    fpr: RateChanges
    fnr: RateChanges


@dataclass(frozen=True)
class ConditionChange:
    """What a condition has less the first."""

    fixed: PointChange
    matched: PointChange
    auc: AUCs


@dataclass(frozen=True)
class BiasResult:
    """What was found of all conditions."""

    groups: dict[str, GroupSize]
    """In the order in which they were given; a text may be of several."""
    overall: GroupSize
    conditions: dict[str, ConditionBias]
    changes: dict[str, ConditionChange]
    """Of every condition but the first, which is what they are compared with."""
    matched_fpr: float
    """The share asked for; `overall` of each condition says how near equal scores let it come."""
    threshold_from: Literal["validation", "given"]
    against: Against
    fewest: int
    """Negative (positive) texts a group needs for its false positive (negative) rate to be compared with others'."""

    def is_powered(self, group: str, error: Literal["fpr", "fnr"]) -> bool:
        """Whether a group has texts enough for one of its rates to be compared."""
        size = self.groups[group]
        return (size.negatives if error == "fpr" else size.positives) >= self.fewest


def evaluate_bias(
    scores: Scores | np.ndarray,
    positive: np.ndarray,
    groups: Mapping[str, np.ndarray],
    *,
    validation: tuple[Scores | np.ndarray, np.ndarray] | None = None,
    threshold: float = HALF,
    matched_fpr: float | None = None,
    against: Against = "overall",
    texts: np.ndarray | None = None,
    fewest: int = FEWEST,
    seed: int = 0,
) -> BiasResult:
    """Error rates and areas under the curve of groups, in one condition or in several on the same texts.

    Args:
        scores: (N,) of the one condition, or by the name of each; the first is what the others are compared with.
        positive: (N,) bool, whether a text has the positive label (hateful, toxic, …).
        groups: (N,) bool, by name, whether a text is about a group; they may overlap.
        validation: scores (M,) of the same conditions, and labels (M,), of texts that thresholds are fixed on.
        threshold: where no validation texts are given.
        matched_fpr: overall false positive rate at which conditions are also compared; None: the first condition's.
        against: what a group's rates are compared with.
        texts: (N,) what rows have in common that are drawn together, such as their template; None: nothing.
        fewest: negative (positive) texts from which on a group's rates are compared.
    """
    conditions, positive = _conditions(scores), np.asarray(positive, dtype=bool)
    _check(conditions, positive, groups, "text")
    thresholds = _thresholds(conditions, validation, threshold)
    names, members = list(groups), np.stack([np.asarray(groups[name], dtype=bool) for name in groups], axis=1)  # (N, G)
    sizes = {name: _size(inside, positive) for name, inside in zip(names, members.T, strict=True)}
    if matched_fpr is None:
        first = next(iter(conditions))
        matched_fpr = float((conditions[first][~positive] > thresholds[first]).mean())
    matched = {name: fpr_threshold(each, positive, matched_fpr) for name, each in conditions.items()}
    drawn = np.arange(len(positive)) if texts is None else np.asarray(texts)
    tables = [
        _Points(conditions, at, positive, members, names, drawn, against, fewest, seed) for at in (thresholds, matched)
    ]
    powered = np.array([min(size.positives, size.negatives) >= fewest for size in sizes.values()])
    areas, less = group_aucs(
        list(conditions.values()), positive, members, names, powered=powered, texts=drawn, seed=seed
    )
    return BiasResult(
        sizes,
        _size(np.ones(len(positive), dtype=bool), positive),
        {
            name: ConditionBias(tables[0].point(number), tables[1].point(number), areas[number])
            for number, name in enumerate(conditions)
        },
        {
            name: ConditionChange(tables[0].change(number), tables[1].change(number), less[number - 1])
            for number, name in enumerate(conditions)
            if number
        },
        matched_fpr,
        "given" if validation is None else "validation",
        against,
        fewest,
    )


def _thresholds(
    conditions: Scores, validation: tuple[Scores | np.ndarray, np.ndarray] | None, given: float
) -> dict[str, float]:
    """Of each condition, on validation texts if there are some."""
    if validation is None:
        return dict.fromkeys(conditions, float(given))
    held_out, labels = _conditions(validation[0]), np.asarray(validation[1], dtype=bool)
    _check(held_out, labels, {}, "validation text")
    if missing := [name for name in conditions if name not in held_out]:
        raise DataError(f"The condition '{missing[0]}' has no validation scores; give those of every condition.")
    return {name: best_f1_threshold(held_out[name], labels) for name in conditions}


class _Points:
    """All conditions at a threshold each."""

    def __init__(
        self,
        conditions: Scores,
        thresholds: Mapping[str, float],
        positive: np.ndarray,
        members: np.ndarray,
        names: list[str],
        texts: np.ndarray,
        against: Against,
        fewest: int,
        seed: int,
    ):
        self.thresholds, self.texts, self.seed = list(thresholds.values()), texts, seed
        flagged = np.stack([conditions[name] > at for name, at in thresholds.items()])  # (C, N)
        self.right = (flagged == positive).astype(float)
        self.fpr, self.fnr = (
            RateTable(
                wrong[:, rows], members[rows], names, texts=texts[rows], against=against, fewest=fewest, seed=seed
            )
            for wrong, rows in ((flagged, ~positive), (~flagged, positive))
        )

    def point(self, condition: int) -> OperatingPoint:
        accuracy = estimate(self.right[condition], self.texts, self.seed)
        assert accuracy is not None
        return OperatingPoint(
            self.thresholds[condition], accuracy, self.fpr.rates(condition), self.fnr.rates(condition)
        )

    def change(self, condition: int) -> PointChange:
        accuracy = estimate(self.right[condition] - self.right[0], self.texts, self.seed)
        assert accuracy is not None
        return PointChange(accuracy, self.fpr.changes(condition), self.fnr.changes(condition))


def _conditions(scores: Scores | np.ndarray) -> dict[str, np.ndarray]:
    given = scores if isinstance(scores, Mapping) else {ONLY: scores}
    return {name: np.asarray(values, dtype=np.float64) for name, values in given.items()}


def _size(inside: np.ndarray, positive: np.ndarray) -> GroupSize:
    positives = int((inside & positive).sum())
    return GroupSize(int(inside.sum()), positives, int(inside.sum()) - positives)


def _check(conditions: Scores, positive: np.ndarray, groups: Mapping[str, np.ndarray], unit: str) -> None:
    """Refuse what no rate can be made of."""
    if not conditions or (unit == "text" and not groups):
        lacking = "group" if conditions else "condition"
        raise DataError(f"There is no {lacking} to measure bias of; give one or more {lacking}s.")
    for kind, each in (("condition", conditions), ("group", groups)):
        for name, values in each.items():
            if np.shape(values) != positive.shape:
                raise DataError(
                    f"The {kind} '{name}' has {np.shape(values)} values, but there are {len(positive)} {unit}s; give "
                    f"one a {unit}."
                )
    broken = [name for name, values in conditions.items() if not np.isfinite(values).all()]
    if broken:
        raise DataError(f"Scores that are no finite numbers are among those of: {listed(broken)}; give finite ones.")
    if positive.all() or not positive.any():
        found = "positive" if positive.any() else "negative"
        raise DataError(
            f"All {len(positive)} {unit}s are {found}, but bias needs {unit}s of both labels; give others, or say "
            "which labels are positive."
        )
