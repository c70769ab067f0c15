"""Calibration: by hand, against chance, and the same of any model's logits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.calibration import BINS, Calibration, CalibrationMeasure, _reliability, calibration
from splade.evaluation.scores import score_decisions
from splade.reporting.sections import all_figures
from splade.tasks import ClassificationTask, TaggingTask
from splade.tasks.base import UNLABELLED
from tests.builders import TAGS, build_tokenizer, tagged_sentences, toy_reviews


def logits_of(*probabilities: tuple[float, ...]) -> Tensor:
    return torch.tensor(probabilities).log()


def drawn(rows: int, claimed: float = 1.0, seed: int = 0) -> tuple[Tensor, np.ndarray]:
    """Logits of two classes, and labels that are as sure as these claim when multiplied by `claimed`."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(rows, 2, generator=generator)
    return claimed * logits, torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0].numpy()


def of_texts(logits: Tensor, labels: np.ndarray) -> Calibration:
    return calibration(logits, labels, np.arange(len(labels)))


def test_by_hand() -> None:
    found = of_texts(logits_of((0.9, 0.1), (0.9, 0.1), (0.4, 0.6), (0.2, 0.8)), np.array([0, 1, 1, 1]))
    assert found.nll == pytest.approx(-(math.log(0.9) + math.log(0.1) + math.log(0.6) + math.log(0.8)) / 4)
    assert found.brier == pytest.approx((2 * 0.1**2 + 2 * 0.9**2 + 2 * 0.4**2 + 2 * 0.2**2) / 4)
    # Rows of one confidence share a bin: 0.6 (right), 0.8 (right), 0.9 (one of two right).
    assert [(each.confidence, each.accuracy, each.rows) for each in found.bins] == [
        (pytest.approx(0.6), 1.0, 1),
        (pytest.approx(0.8), 1.0, 1),
        (pytest.approx(0.9), 0.5, 2),
    ]
    assert found.ece == pytest.approx((0.4 + 0.2 + 2 * 0.4) / 4)
    assert found.overconfidence == pytest.approx((0.6 + 0.8 + 1.8) / 4 - 0.75)
    assert found.rows == 4


def test_rows_without_a_label_are_left_out() -> None:
    logits = logits_of((0.9, 0.1), (0.4, 0.6), (0.5, 0.5))
    with_more = of_texts(logits, np.array([0, 1, UNLABELLED]))
    assert with_more == of_texts(logits[:2], np.array([0, 1])) and with_more.rows == 2


def test_what_claims_as_much_as_it_knows_is_no_worse_than_chance() -> None:
    logits, labels = drawn(4000)
    honest = of_texts(logits, labels)
    assert len(honest.bins) == BINS and {each.rows for each in honest.bins} <= {266, 267}
    assert honest.ece < 1.5 * honest.ece_by_chance < 0.03
    assert honest.intervals["overconfidence"].low < 0 < honest.intervals["overconfidence"].high
    for claimed, sign in ((4.0, 1), (0.25, -1)):
        wrong = of_texts(*drawn(4000, claimed))
        assert wrong.ece > 5 * wrong.ece_by_chance and sign * wrong.overconfidence > 0.05
        assert wrong.nll > honest.intervals["nll"].high and wrong.brier > honest.brier
        within = wrong.intervals["overconfidence"]
        assert within.low > 0 if sign > 0 else within.high < 0


def test_the_opposite_of_what_is_right_scores_worst() -> None:
    logits, labels = drawn(1000)
    right, wrong = of_texts(logits, labels), of_texts(-logits, labels)
    assert wrong.nll > 2 * right.nll and wrong.brier > 2 * right.brier and wrong.ece > 0.4 > 5 * right.ece


def test_intervals_are_of_texts_and_not_of_their_words() -> None:
    logits, labels = drawn(400)
    alone = calibration(logits, labels, np.arange(400)).intervals["nll"]
    repeated = calibration(logits.repeat(9, 1), np.tile(labels, 9), np.tile(np.arange(400), 9))
    assert repeated.nll == pytest.approx(calibration(logits, labels, np.arange(400)).nll)
    assert repeated.intervals["nll"].high - repeated.intervals["nll"].low == pytest.approx(alone.high - alone.low)
    taken_for_texts = of_texts(logits.repeat(9, 1), np.tile(labels, 9)).intervals["nll"]
    assert taken_for_texts.high - taken_for_texts.low < 0.5 * (alone.high - alone.low)


def test_any_models_logits_are_scored_under_the_same_keys() -> None:
    texts = ClassificationTask(TextSplit(*toy_reviews(40)), build_tokenizer(), 64)
    logits = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    scores = score_decisions(texts, ["negative", "positive"], logits)
    assert scores["calibration"]["nll"] == pytest.approx(of_texts(logits, texts.labels).nll)
    assert scores["accuracy"] == float((logits.argmax(-1).numpy() == texts.labels).mean())

    words = TaggingTask(TaggedSplit(*tagged_sentences(12)), build_tokenizer(), 64, TAGS)
    logits = torch.randn(len(words.labels), len(TAGS), generator=torch.Generator().manual_seed(0))
    tagged = score_decisions(words, TAGS, logits)["calibration"]
    assert tagged["rows"] == len(words.labels)
    assert tagged["nll"] == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits, torch.from_numpy(words.labels)))
    )


def test_the_dense_head_stands_beside() -> None:
    texts = ClassificationTask(TextSplit(*toy_reviews(40)), build_tokenizer(), 64)
    own, dense = (torch.randn(40, 2, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    results = score_decisions(texts, ["negative", "positive"], own)
    results["dense"] = score_decisions(texts, ["negative", "positive"], dense)
    shown = {figure.title: figure.beside for figure in all_figures(results)}
    nll, ece = (results["dense"]["calibration"][key] for key in ("nll", "ece"))
    assert f"dense head {nll:.3f}," in shown["negative log-likelihood"]
    assert f"dense head {100 * ece:.1f} % (" in shown["calibration error"] and "by chance" in shown["calibration error"]
    drawing = _reliability(results)
    assert drawing is not None and [line.name for line in drawing.lines] == [
        *("Lexical-SAE", "dense head", "as sure as right"),
    ]
    assert _reliability({}) is None


def test_a_finding_where_probabilities_mislead() -> None:
    found = CalibrationMeasure.findings(None, of_texts(*drawn(2000, 4.0)))  # type: ignore[arg-type]
    assert len(found) == 1 and found[0].startswith("The probabilities are too high: ")
    assert CalibrationMeasure.findings(None, of_texts(*drawn(2000))) == []  # type: ignore[arg-type]
