"""Agreement with rationales as ERASER and HateXplain compute it, so that figures can stand beside published ones.

Read with care. Both take the area under the precision-recall curve by the trapezoid rule, which gives an explanation
that says nothing (1 + share of words marked) / 2: 0.658 on HateXplain, 0.651 on Movies, where random scores get 0.364
and 0.306. And "IOU F1" depends on what is called a span: HateXplain predicts spans of one word, marked spans have
several, and so the very words that people marked, each by itself, score 0.469.

Facts from https://github.com/jayded/eraserbenchmark (DeYoung et al. 2020) and https://github.com/hate-alert/HateXplain
(Mathew et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from splade.data.rationales import RationaleText, Span, runs
from splade.evaluation.rationale_scores import share_of_words
from splade.registry import Registry

OVERLAP = 0.5
"""The least intersection over union at which a predicted span has found a marked one."""

TOP_PIECES = 5
"""Word pieces that HateXplain takes for the predicted rationale: about the mean length of those people gave."""


@dataclass(frozen=True)
class Judged:
    """One text as a protocol sees it: in its own units, with its own idea of what is marked and predicted."""

    gold: np.ndarray
    """(U,) bool."""
    spans: Sequence[Span]
    """The marked spans, [start, end)."""
    scores: np.ndarray
    """(U,)."""
    chosen: np.ndarray
    """(U,) bool: the predicted rationale."""


@dataclass(frozen=True)
class ProtocolFigures:
    """What a protocol finds over texts."""

    auprc: float
    """Mean area under the precision-recall curve by the trapezoid rule."""
    token_f1: float
    """Mean F1 of the chosen words."""
    iou_f1_single: float
    """Of spans that overlap by half, with a span for each chosen word …"""
    iou_f1_merged: float
    """… and with neighbouring ones merged."""
    texts: int


@dataclass(frozen=True)
class Reading:
    """What protocols need beside texts and scores."""

    pieces: Callable[[RationaleText], np.ndarray]
    """(W,) how many word pieces each word of a text has."""
    share: float
    """Of a text's words that people mark, in the mean over the training texts."""


Protocol = Callable[[RationaleText, np.ndarray, Reading], Judged]
"""How one text with scores (W,) toward the predicted class is judged."""

PROTOCOLS: Registry[Protocol] = Registry("protocol")


@PROTOCOLS.register("eraser")
def eraser(text: RationaleText, scores: np.ndarray, reading: Reading) -> Judged:
    """Words; spans as people marked them; as many words chosen as people mark, in the mean, in training."""
    assert text.gold is not None
    chosen = highest(scores, share_of_words(reading.share, len(scores)))
    return Judged(text.gold, sorted(set(text.spans)), scores, chosen)


@PROTOCOLS.register("hatexplain")
def hatexplain(text: RationaleText, scores: np.ndarray, reading: Reading) -> Judged:
    """Word pieces, each with its word's score, and one without a score at either end; of scores what speaks for the
    class; the `TOP_PIECES` highest chosen; whole texts too. Marked is what anybody marked, so read texts that way."""
    assert text.gold is not None
    pieces = reading.pieces(text)
    gold = np.concatenate([[False], np.repeat(text.gold, pieces), [False]])
    spread = np.concatenate([[0.0], np.repeat(scores.clip(min=0), pieces), [0.0]])
    return Judged(gold, runs(gold), spread, highest(spread, min(TOP_PIECES, len(spread))))


def protocol_figures(judged: Sequence[Judged]) -> ProtocolFigures:
    """The figures over texts."""
    single = [[(place, place + 1) for place in np.flatnonzero(one.chosen).tolist()] for one in judged]
    gold = [one.spans for one in judged]
    return ProtocolFigures(
        auprc=float(np.mean([trapezoid_auprc(one.gold, one.scores) for one in judged])),
        token_f1=float(np.mean([_f1_of_marks(one.gold, one.chosen) for one in judged])),
        iou_f1_single=iou_f1(gold, single),
        iou_f1_merged=iou_f1(gold, [runs(one.chosen) for one in judged]),
        texts=len(judged),
    )


def trapezoid_auprc(gold: np.ndarray, scores: np.ndarray) -> float:
    """Area under straight lines between the points (recall, precision), one a different score, and (0, 1)."""
    from sklearn.metrics import auc, precision_recall_curve  # takes a second to load

    precision, recall, _ = precision_recall_curve(gold, scores)
    return float(auc(recall, precision))


def iou_f1(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> float:
    """F1 of the mean precision and the mean recall over texts; a predicted span is right if it overlaps with some
    marked one by half. Several may be right by the same one, as ERASER counts, so that recall can exceed 1."""
    right = [
        sum(_best_overlap(span, marked) >= OVERLAP for span in spans)
        for marked, spans in zip(gold, predicted, strict=True)
    ]
    recall = [hits / len(marked) for hits, marked in zip(right, gold, strict=True) if marked]
    precision = [hits / len(spans) for hits, spans in zip(right, predicted, strict=True) if spans]
    return _f1(float(np.mean(precision)) if precision else 0.0, float(np.mean(recall)) if recall else 0.0)


def _best_overlap(span: Span, marked: Sequence[Span]) -> float:
    """The largest |span ∩ other| / |span ∪ other|."""
    best = 0.0
    for start, end in marked:
        shared = max(0, min(end, span[1]) - max(start, span[0]))
        best = max(best, shared / (end - start + span[1] - span[0] - shared))
    return best


def _f1_of_marks(gold: np.ndarray, chosen: np.ndarray) -> float:
    hits = int((gold & chosen).sum())
    return _f1(hits / chosen.sum() if chosen.any() else 0.0, hits / gold.sum() if gold.any() else 0.0)


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def highest(scores: np.ndarray, words: int) -> np.ndarray:
    """(U,) bool: the `words` highest; of equals the last, as in HateXplain's code."""
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.argsort(scores, kind="stable")[len(scores) - words :]] = True
    return chosen
