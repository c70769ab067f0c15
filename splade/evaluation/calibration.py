"""Calibration: is a model that says 90 % right nine times out of ten?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from splade.data.splits import TEST_SEED
from splade.evaluation.binomial import Interval
from splade.evaluation.bootstrap import intervals
from splade.evaluation.figure import (
    DIVERGENCE,
    SHARE,
    Curves,
    Drawing,
    Figure,
    Form,
    Key,
    Line,
    Results,
    find,
    is_number,
    percent,
)
from splade.evaluation.measure import MEASURES
from splade.evaluation.scores import Decisions, ScoreMeasure
from splade.tasks import Task
from splade.tasks.base import UNLABELLED

BINS = 15
"""Groups of rows of about equal number, by their confidence. Of equal number and not of equal width, since most rows of
a trained model may lie above 95 %: bins of equal width would then be one full one and many of a few rows, whose chance
differences add to the error (Nixon et al. 2019, arXiv:1904.01685; Roelofs et al. 2022, arXiv:2012.08668). 15 as in Guo
et al. 2017, arXiv:1706.04599."""

CHANCE_DRAWS = 200
"""Splits that a perfectly calibrated model is drawn on: their mean error is then known to a few hundredths of it."""

NOTABLE = 0.05
"""Points between confidence and truth from which on a reader of probabilities is misled."""

SIGNED_SHARE = Form(1, 100, "%", (-1, 1))
BRIER = Form(3, bounds=(0, 2))


@dataclass(frozen=True)
class Bin:
    """Rows of about the same confidence."""

    confidence: float
    """Mean probability of the most probable class."""
    accuracy: float
    """Share of the rows in which that class is right."""
    rows: int


@dataclass(frozen=True)
class Calibration:
    """Probabilities, the softmax of each row's logits, against what is true."""

    nll: float
    """Mean −log p(true class), in nats."""
    brier: float
    """Mean Σ_c (p(c) − [c is true])², from 0 to 2."""
    ece: float
    """Σ_b n_b/n · |confidence_b − accuracy_b| over the bins."""
    ece_by_chance: float
    """The mean of the same if each row were right exactly as often as it claims: what so few cannot tell from 0."""
    overconfidence: float
    """Mean confidence less the share that is right."""
    intervals: dict[str, Interval]
    """By the name of the figure: 95 %, drawn over texts."""
    bins: list[Bin]
    """From the least to the most confident."""
    rows: int


def calibration(logits: Tensor, labels: np.ndarray, examples: np.ndarray) -> Calibration:
    """How well logits (N, C) know how often they are right; `labels` (N,), rows without one left out, and the example
    (N,) that each row belongs to, over which intervals are drawn."""
    known = np.flatnonzero(labels != UNLABELLED)
    log_p = logits[known].double().log_softmax(-1).numpy()  # (R, C)
    gold, rows = labels[known], np.arange(len(known))
    confidence, right = np.exp(log_p.max(1)), (log_p.argmax(1) == gold).astype(float)
    brier = 1 - 2 * np.exp(log_p[rows, gold]) + (np.exp(log_p) ** 2).sum(1)  # Σ p² − 2p(true) + 1
    bin_of = _bins(confidence)
    gaps = np.eye(bin_of.max() + 1)[bin_of] * (confidence - right)[:, None]  # (R, bins)
    terms = np.column_stack([np.ones(len(known)), -log_p[rows, gold], brier, confidence - right, gaps])
    names = ("nll", "brier", "overconfidence", "ece")
    estimates, ranges = intervals(terms, examples[known], _figures, TEST_SEED)
    figures = dict(zip(names, estimates.tolist(), strict=True))
    return Calibration(
        **figures,
        ece_by_chance=_ece_by_chance(confidence, bin_of),
        intervals=dict(zip(names, ranges, strict=True)),
        bins=[
            Bin(float(confidence[inside].mean()), float(right[inside].mean()), int(inside.sum()))
            for inside in (bin_of == number for number in range(bin_of.max() + 1))
        ],
        rows=len(known),
    )


def _figures(sums: np.ndarray) -> np.ndarray:
    """(D, 4) NLL, Brier, overconfidence and ECE, from sums (D, 4 + bins) over rows of what `calibration` lists."""
    means = sums[:, 1:] / sums[:, :1]
    return np.column_stack([means[:, :3], np.abs(means[:, 3:]).sum(1)])


def _bins(confidence: np.ndarray) -> np.ndarray:
    """(R,) the bin of each row, numbered from 0 without a gap; rows of one confidence are never parted."""
    inner = np.quantile(confidence, np.arange(1, BINS) / BINS)
    return np.unique(np.searchsorted(inner, confidence, side="left"), return_inverse=True)[1]


def _ece_by_chance(confidence: np.ndarray, bin_of: np.ndarray) -> float:
    """The mean ECE of draws in which a row of confidence p is right with the probability p."""
    generator, drawn = np.random.default_rng(TEST_SEED), []
    for _ in range(CHANCE_DRAWS):
        gaps = confidence - (generator.random(len(confidence)) < confidence)
        drawn.append(np.abs(np.bincount(bin_of, gaps)).sum() / len(confidence))
    return float(np.mean(drawn))


# --- how they are shown ----------------------------------------------------------------------------------------------


def _interval(name: str, form: Form) -> Callable[[Results], str]:
    def said(results: Results) -> str:
        low, high = (find(results, f"calibration.intervals.{name}.{end}") for end in ("low", "high"))
        return f"95 % interval {form.show(low)} to {form.show(high)}" if is_number(low) and is_number(high) else ""

    return said


def _ece_beside(results: Results) -> str:
    chance = find(results, "calibration.ece_by_chance")
    parts = [f"{percent(chance)} by chance" if is_number(chance) else "", _interval("ece", SHARE)(results)]
    return ", ".join(part for part in parts if part)


def _reliability(results: Results) -> Curves | None:
    named = {"Lexical-SAE": "calibration.bins", "dense head": "dense.calibration.bins"}
    lines = [
        Line(name, [(100 * each["confidence"], 100 * each["accuracy"]) for each in found])
        for name, key in named.items()
        if (found := find(results, key))
    ]
    if not lines:
        return None
    least = min(x for line in lines for x, _ in line.points)
    return Curves("confidence (%)", "right (%)", [*lines, Line("as sure as right", [(least, least), (100, 100)], True)])


@MEASURES.register("calibration")
class CalibrationMeasure(ScoreMeasure[Calibration]):
    """Negative log-likelihood, Brier score and calibration error of the predicted probabilities."""

    title = "Calibration"
    about = (
        "Whoever must know why must also know how sure: the probability of the most probable label, against how often "
        "that label is right.{tagging: Word by word, before tags are made to fit together; words without a label are "
        "left out.}"
    )
    section = "calibration"
    figures = (
        Figure(
            "calibration.ece",
            "calibration error",
            "Mean gap between confidence and the share that is right, over 15 groups of {units} of like confidence and "
            "equal number; beside it what perfectly calibrated probabilities would get on so few {units}.",
            better="lower",
            column="ece",
            beside=_ece_beside,
        ),
        Figure(
            "calibration.overconfidence",
            "too sure by",
            "Mean confidence less the share of {units} that are right; negative where the model is too modest.",
            SIGNED_SHARE,
            brief=False,
            beside=_interval("overconfidence", SHARE),
        ),
        Figure(
            "calibration.nll",
            "negative log-likelihood",
            "Mean of −log of the probability of the true label, in nats.",
            DIVERGENCE,
            better="lower",
            brief=False,
            beside=_interval("nll", DIVERGENCE),
        ),
        Figure(
            "calibration.brier",
            "Brier score",
            "Mean squared distance of the probabilities from the truth, summed over the labels: from 0 to 2.",
            BRIER,
            better="lower",
            brief=False,
            beside=_interval("brier", BRIER),
        ),
    )
    drawings = (
        Drawing(
            "reliability",
            "How often it is right, by how sure it is",
            "Each dot is a fifteenth of the {units}. On the dashed line confidence is what it claims; below it the "
            "model is surer than right.",
            _reliability,
        ),
    )
    keys = (
        Key(
            "calibration.bins[].{confidence,accuracy,rows}",
            "{units} in groups of like confidence, the least confident first: mean confidence, share that is right, "
            "and how many",
        ),
        Key("calibration.ece_by_chance", "the mean `ece` if every {unit} were right exactly as often as it claims"),
        Key(
            "calibration.intervals.<figure>.{low,high}",
            "95 % intervals of `ece`, `overconfidence`, `nll` and `brier`, by bootstrap over {items}",
        ),
        Key("calibration.rows", "{units} with a label, which all of these are of"),
    )

    @staticmethod
    def score(task: Task, labels: Sequence[str], decisions: Decisions) -> Calibration:
        return calibration(decisions.logits, task.labels, task.example_of_row)

    def findings(self, result: Calibration) -> list[str]:
        gap = result.overconfidence
        if abs(gap) < NOTABLE or result.intervals["overconfidence"].low <= 0 <= result.intervals["overconfidence"].high:
            return []
        sure = sum(each.confidence * each.rows for each in result.bins) / result.rows
        return [
            f"The probabilities are too {'high' if gap > 0 else 'low'}: {percent(sure)} on average, where "
            f"{percent(sure - gap)} are right; read them as an order, and not as odds."
        ]
