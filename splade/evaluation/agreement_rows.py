"""One row of the table of agreement: how well the words of one explainer are those that people marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splade.data.rationales import Marking, RationaleText
from splade.evaluation.estimate import Estimate, estimates
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
    ap_phrase: Estimate | None
    """As `ap`, with each score spread over as many words around as people mark in a row in training texts; None: these
    have no rationales."""
    f1_gold: Estimate
    """Token F1 of as many words as people marked in the text."""
    f1_training: Estimate | None
    """Token F1 of the share of a text's words that people mark in training texts; None: these have no rationales."""
    accuracy: float | None
    """Of what is explained, on all texts of the split that were looked at; None: it decides nothing."""
    protocol: ProtocolFigures | None


def row_agreement(
    texts: Sequence[RationaleText],
    predicted: Sequence[np.ndarray],
    label: Sequence[np.ndarray] | None,
    *,
    training: Marking | None,
    seed: int,
    accuracy: float | None = None,
    protocol: ProtocolFigures | None = None,
) -> RowAgreement:
    """Scores (W,) of each text's words toward the class predicted, and toward the label, against the marked words.

    Whole texts are left out; `training`: how people mark the training texts.
    """
    rows = [n for n, text in enumerate(texts) if not text.is_whole]
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
        if training is not None:
            values[place, 4] = token_f1(gold, scores, share_of_words(training.share, len(gold)))
            values[place, 6] = average_precision(gold, spread_over_phrases(scores, training.length))
        if label is not None:
            values[place, 5] = average_precision(gold, label[n])
    ap, ap_size, ap_chance, f1_gold, f1_training, ap_label, ap_phrase = estimates(values, np.arange(len(rows)), seed)
    assert ap is not None and ap_size is not None and ap_chance is not None and f1_gold is not None
    return RowAgreement(ap, ap_size, ap_label, ap_chance, ap_phrase, f1_gold, f1_training, accuracy, protocol)


def protocol_row(
    name: str, texts: Sequence[RationaleText], scores: Sequence[np.ndarray], reading: Reading
) -> ProtocolFigures:
    """The figures of a published protocol, whole texts and all."""
    judge = PROTOCOLS.get(name)
    return protocol_figures([judge(text, of_text, reading) for text, of_text in zip(texts, scores, strict=True)])
