"""Figures a class and the confusion matrix, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from splade.evaluation.binomial import Interval, interval
from splade.evaluation.class_scores import ClassFigures, ConfusionMeter, class_scores


def test_by_hand() -> None:
    """Of four ham one is taken for spam; of two spam one is found; nothing is or is called news."""
    scores = class_scores(["ham", "spam", "news"], np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 0]))
    assert scores.confusion == [[3, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert scores.per_class["ham"] == ClassFigures(0.75, 0.75, 0.75, support=4, predicted=4)
    assert scores.per_class["spam"] == ClassFigures(0.5, 0.5, 0.5, support=2, predicted=2)
    assert scores.per_class["news"] == ClassFigures(0.0, 0.0, 0.0, support=0, predicted=0)
    assert scores.accuracy == pytest.approx(4 / 6) and scores.macro_f1 == 0.625  # of the classes that occur
    assert list(scores.per_class) == ["ham", "spam", "news"]


@pytest.mark.parametrize("classes", [2, 5, 77])
def test_as_scikit_learn_computes_them(classes: int) -> None:
    generator = np.random.default_rng(classes)
    gold, given = generator.integers(classes, size=300), generator.integers(max(1, classes - 1), size=300)
    labels = [f"label {number}" for number in range(classes)]
    scores = class_scores(labels, gold, given)
    expected = precision_recall_fscore_support(gold, given, labels=range(classes), zero_division=0)
    for name, theirs in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert [getattr(scores.per_class[label], name) for label in labels] == pytest.approx(theirs.tolist())
    assert scores.confusion == confusion_matrix(gold, given, labels=range(classes)).tolist()
    assert scores.macro_f1 == pytest.approx(f1_score(gold, given, average="macro", zero_division=0))
    assert scores.accuracy == (gold == given).mean()


def test_batches_add_up() -> None:
    gold, given = np.array([0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 1])
    meter = ConfusionMeter(["a", "b"])
    meter.add(gold[:2], given[:2])
    meter.add(gold[2:], given[2:])
    assert meter.result() == class_scores(["a", "b"], gold, given)


def test_of_no_text() -> None:
    scores = ConfusionMeter(["a", "b"]).result()
    assert (scores.accuracy, scores.macro_f1, scores.accuracy_interval) == (0.0, 0.0, Interval(0.0, 1.0))


def test_the_interval_of_a_share() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe 1998, table I, Wilson's score without correction)."""
    found = interval(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)
    assert interval(0, 20).low == 0.0 and interval(20, 20).high == pytest.approx(1.0)
    assert interval(90, 100).high - interval(90, 100).low > interval(900, 1000).high - interval(900, 1000).low
