"""The rows of the table of agreement: how well the words of one explainer are those that people marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splade.data.rationales import Marking, RationaleText
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.paired import Difference, paired_difference
from splade.evaluation.rationale_protocols import PROTOCOLS, ProtocolFigures, Reading, protocol_figures
from splade.evaluation.rationale_scores import (
    average_precision,
    expected_average_precision,
    share_of_words,
    spread_over_phrases,
    token_f1,
)


@dataclass(frozen=True)
class RowAgreement:
    """Of one explainer, over the texts of which some words are marked and some are not."""

    ap: Estimate
    """Average precision of the scores toward the class predicted; a text is one value."""
    ap_size: Estimate
    """Of |score|: words against the class are named too."""
    ap_label: Estimate | None
    """Of the scores toward the label, which is what people gave reasons for; None: not asked, at twice the cost."""
    ap_chance: Estimate
    """As `ap`, with words of the same score in random order."""
    ap_phrase: Estimate
    """As `ap`, with each score spread over the words around it."""
    f1_gold: Estimate
    """Token F1 of as many words as people marked in the text."""
    f1_training: Estimate | None
    """Token F1 of the share of a text's words that people mark in training texts; None: these have no rationales."""
    against_ours: Difference | None
    """`ap` less that of our own words, text by text; None: these are ours."""
    accuracy: float | None
    """Of what is explained, on all texts of the split that were looked at; None: it decides nothing."""
    protocol: ProtocolFigures | None


@dataclass(frozen=True)
class AgreementResult:
    """Ours, beside what it must be held against."""

    explainers: dict[str, RowAgreement]
    texts: int
    """Of which some words are marked and some are not."""
    without: int
    """Texts nobody marked a word of, left out."""
    whole: int
    """Texts all of whose words are marked, left out but in a published protocol."""
    long: int
    """Of the texts with a rationale, those longer than the model reads at a time, and read in windows."""
    seen: float
    """Share of the marked words that was read …"""
    seen_at_once: float
    """… and that would have been without windows."""
    share: float
    """Mean share of a text's words that is marked."""
    training: Marking | None
    """How people mark the training texts; None: they are not at hand, or have no rationales."""
    protocol: str | None


def row_agreement(
    texts: Sequence[RationaleText],
    predicted: Sequence[np.ndarray],
    label: Sequence[np.ndarray] | None,
    *,
    training: Marking | None,
    seed: int,
    ours: Sequence[np.ndarray] | None = None,
    draws: Sequence[Sequence[np.ndarray]] = (),
    accuracy: float | None = None,
    protocol: ProtocolFigures | None = None,
) -> RowAgreement:
    """Scores (W,) of each text's words toward the class predicted, and toward the label, against the marked words.

    Whole texts are left out.

    Args:
        training: how people mark the training texts.
        ours: our own scores of the same texts.
        draws: further scores toward the class predicted, of an explainer by chance; a text's value is the mean of all.
    """
    rows = [n for n, text in enumerate(texts) if not text.is_whole]
    values = np.mean([_values(texts, rows, each, label, training) for each in (predicted, *draws)], 0)
    ap, ap_size, ap_chance, f1_gold, f1_training, ap_label, ap_phrase = estimates(values, np.arange(len(rows)), seed)
    assert ap is not None and ap_size is not None and ap_chance is not None
    assert f1_gold is not None and ap_phrase is not None
    less = None
    if ours is not None:
        mine = [average_precision(gold, ours[n]) for n in rows if (gold := texts[n].gold) is not None]
        less = paired_difference(values[:, 0], np.array(mine), seed)
    return RowAgreement(ap, ap_size, ap_label, ap_chance, ap_phrase, f1_gold, f1_training, less, accuracy, protocol)


def _values(
    texts: Sequence[RationaleText],
    rows: Sequence[int],
    predicted: Sequence[np.ndarray],
    label: Sequence[np.ndarray] | None,
    training: Marking | None,
) -> np.ndarray:
    """(R, 7) what each text is worth; NaN for what was not asked."""
    values = np.full((len(rows), 7), np.nan)
    for place, n in enumerate(rows):
        gold, scores = texts[n].gold, predicted[n]
        assert gold is not None
        values[place, :4] = (
            average_precision(gold, scores),
            average_precision(gold, np.abs(scores)),
            expected_average_precision(gold, scores),
            token_f1(gold, scores, int(gold.sum())),
        )
        values[place, 6] = average_precision(gold, spread_over_phrases(scores))
        if training is not None:
            values[place, 4] = token_f1(gold, scores, share_of_words(training.share, len(gold)))
        if label is not None:
            values[place, 5] = average_precision(gold, label[n])
    return values


def protocol_row(
    name: str, texts: Sequence[RationaleText], scores: Sequence[np.ndarray], reading: Reading
) -> ProtocolFigures:
    """The figures of a published protocol, whole texts and all."""
    judge = PROTOCOLS.get(name)
    return protocol_figures([judge(text, of_text, reading) for text, of_text in zip(texts, scores, strict=True)])
