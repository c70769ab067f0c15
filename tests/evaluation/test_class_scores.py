"""Figures a class and the confusion matrix, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from splade.evaluation.binomial import Interval, interval
from splade.evaluation.class_scores import ClassFigures, ConfusionMeter, class_scores, class_table, confusion_table
from splade.evaluation.figure import Grid, Table
from tests.reporting.builders import build_many_classes, build_results


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


def cells(grid: Grid | None) -> list[list[str]]:
    assert grid is not None
    return [list(grid.columns), *([cell.text for cell in row] for row in grid.rows)]


class TestTable:
    def test_rows_stand_beside_the_dense_baselines(self) -> None:
        head, negative, positive = cells(class_table(build_results()))
        assert head == ["label", "F1", "F1, dense head", "precision", "recall", "texts", "predicted"]
        assert negative == ["negative", "82.2 %", "83.4 %", "81.9 %", "82.5 %", "400", "403"]
        assert positive[0] == "positive"

    def test_without_a_dense_baseline_there_is_no_column_for_it(self) -> None:
        assert "F1, dense head" not in cells(class_table(build_results() | {"dense": None}))[0]
        some = build_results() | {"dense": {"per_class": {"negative": {"f1": 0.5}}}}
        assert [row[2] for row in cells(class_table(some))] == ["F1, dense head", "50.0 %", "–"]

    def test_of_many_labels_the_worst_come_first_and_the_others_are_folded(self) -> None:
        grid = class_table(build_many_classes())
        assert grid is not None and (len(grid.rows), grid.shown) == (77, 5) and "77 labels" in grid.note
        found = [float(row[1].text.removesuffix(" %")) for row in grid.rows]
        assert found == sorted(found)

    def test_of_twelve_all_are_shown_in_the_models_order(self) -> None:
        grid = class_table(build_many_classes(12))
        assert grid is not None and grid.shown is None and not grid.note
        assert [row[0].text for row in grid.rows] == [f"label_{number}" for number in range(12)]
        many = class_table(build_many_classes(13))
        assert many is not None and many.shown == 5

    def test_of_nothing(self) -> None:
        assert Table("a", "a", "a", "a", class_table).read({}) is None


class TestConfusions:
    def test_a_matrix_is_shaded_by_the_share_of_its_row(self) -> None:
        grid = confusion_table(["a", "b"], [[90, 10], [0, 0]])
        assert cells(grid) == [["", "a", "b"], ["a", "90", "10"], ["b", "0", "0"]] and grid is not None
        _, right, wrong = grid.rows[0]
        assert (right.share, right.toward, wrong.share, wrong.toward) == (0.9, True, 0.1, False)
        assert wrong.title == "10 of 100 (10.0 %) of a: b"
        assert [cell.share for cell in grid.rows[1][1:]] == [None, None]  # nothing is not shaded

    def test_of_many_the_most_frequent_pairs(self) -> None:
        results = build_many_classes()
        grid = confusion_table(list(results["per_class"]), results["confusion"])
        assert cells(grid)[:2] == [["label", "taken for", "how often", "of"], ["label_39", "label_40", "39", "40"]]
        assert [row[2] for row in cells(grid)[1:]] == ["39", "38", "37", "36", "36"]

    def test_of_as_many_as_a_matrix_holds(self) -> None:
        few, many = (build_many_classes(labels) for labels in (12, 13))
        shapes = [len(cells(confusion_table(list(each["per_class"]), each["confusion"]))[0]) for each in (few, many)]
        assert shapes == [13, 4]

    def test_names_and_counts_that_do_not_belong_together(self) -> None:
        assert confusion_table(["a", "b"], []) is confusion_table([], [[1]]) is None
        assert Table("a", "a", "a", "a", lambda results: confusion_table([], [])).read({}) is None
