"""The columns of a study: those that measures declare, and how a figure over seeds is written."""

from __future__ import annotations

import pytest

from splade.evaluation.figure import COUNT, ERROR, SHARE
from splade.evaluation.measures import declared
from splade.studies.summary import Column, Row, columns, measured, rows_of
from tests.reporting.builders import build_results, build_tagging_results

TASKS = ("classification", "tagging")


@pytest.mark.parametrize("task", TASKS)
def test_columns_are_what_the_measures_of_the_task_declare(task: str) -> None:
    figures = [figure for one in declared(task) for figure in one.figures if figure.column]
    assert [(column.key, column.path) for column in columns(task)] == [
        (figure.column, figure.key) for figure in figures
    ]
    assert not any("{" in column.heading for column in columns(task))


@pytest.mark.parametrize("task", TASKS)
def test_no_two_columns_have_one_key_or_one_heading(task: str) -> None:
    for names in ([column.key for column in columns(task)], [column.heading for column in columns(task)]):
        assert len(set(names)) == len(names)


def test_each_task_has_its_own_and_speaks_of_its_units() -> None:
    texts, words = ({column.key: column for column in columns(task)} for task in TASKS)
    assert "accuracy" in texts and "f1" not in texts and "f1" in words and "accuracy" not in words
    assert texts["active_tokens"].title == "active tokens a text" and words["active_tokens"].title.endswith("a word")


@pytest.mark.parametrize(("task", "score"), [("classification", "accuracy"), ("tagging", "f1")])
def test_the_first_columns_are_the_score_the_dense_one_and_the_tokens(task: str, score: str) -> None:
    results = {"classification": build_results, "tagging": build_tagging_results}[task]()
    shown = measured(rows_of({"a": [results]}, columns(task)), columns(task))
    assert [column.key for column in shown][:3] == [score, f"dense_{score}", "active_tokens"]


def test_a_column_reads_a_run_and_leaves_out_what_was_not_measured() -> None:
    rows = rows_of({"a": [build_results(), build_results() | {"accuracy": 0.9}], "b": []}, columns("classification"))
    assert rows[0].figures["accuracy"].values == [0.832, 0.9] and rows[0].figures["rated_share"].mean == 0.47
    assert rows[0].figures["completeness"].mean == 0.8  # the key itself has a dot: completeness.0.1.accuracy
    assert "overlap" not in rows[0].figures and "tokens_kl" not in rows[0].figures and rows[1].figures == {}
    shown = [column.key for column in measured(rows, columns("classification"))]
    assert "accuracy" in shown and "overlap" not in shown
    (tagger,) = rows_of({"a": [build_tagging_results()]}, columns("tagging"))
    assert (tagger.figures["f1"].mean, tagger.figures["dense_f1"].mean) == (0.883, 0.891)
    assert measured([Row("none", {}, {})], columns("tagging")) == []


def test_a_figure_over_seeds_as_it_is_written() -> None:
    share, error, count = (Column("a", "a", "a", form) for form in (SHARE, ERROR, COUNT))
    assert (share.show(None), share.show(share.over([0.5]))) == ("–", "50.0")
    assert error.show(error.over([1e-7, 3e-6])) == "3e-06"  # the largest of them
    assert count.show(count.over([1234.0])) == "1,234"
    assert share.heading == "a, %" and count.heading == "a"
