"""The table in the terminal: every figure that was measured, and the tables that are short."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from splade.reporting.results_table import print_results
from splade.reporting.sections import brief_figures
from tests.reporting.builders import build_classes, build_many_classes, build_results, build_tagging_results


def printed(results: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_results(results, Console(file=stream, width=160))
    return stream.getvalue()


def rows(results: dict[str, Any]) -> dict[str, str]:
    """The table by the first cell of each row."""
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed(results).splitlines() if "│" in line]
    return {line[0]: line[1] for line in lines}


def without_dense(results: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if not key.startswith("dense")}


def test_a_classifier() -> None:
    shown = rows(build_results())
    assert shown["accuracy"] == "83.2 %  (dense head 84.1 % (-0.9 points), 95 % interval 80.5 % to 85.6 %)"
    assert shown["accuracy keeping a tenth"] == "80.0 %  (random tokens 58.0 %)"
    assert shown["active tokens a text"] == "27.3  (of 30,522, 95 % have at most 45)"
    assert shown["heaviest token"] == "bad, 4.1 %" and shown["heaviest word"].startswith("awful, 6.0 %")
    assert shown["on rated words"] == "47.0 %  (94.0 % of it of the right sign)"
    assert "entity F1" not in shown
    assert "Note: 31 duplicate texts were dropped." in printed(build_results())


def test_a_tagger() -> None:
    shown = rows(build_tagging_results())
    assert shown["entity F1"] == "88.3 %  (dense head 89.1 % (-0.8 points))"
    assert (shown["precision"], shown["recall"]) == ("87.5 %", "89.1 %")
    assert shown["LOC"].startswith("F1 88.3 %, F1, dense head 88.3 %") and shown["LOC"].endswith("entities 1,668")
    assert shown["entity F1, 20 tokens"] == "88.1 %  (40.0 % of words had more)"
    assert shown["active tokens a word of an entity"] == "90.4  (of 30,522, 95 % have at most 120)"
    assert shown["accuracy keeping a tenth, words of entities"] == "70.0 %  (random tokens 30.0 %)"
    assert shown["B-LOC"].startswith("strongest token beijing, of its words 60.0 %") and "macro-F1" not in shown


def test_every_brief_figure_that_was_measured_has_a_row_and_nothing_else() -> None:
    for results in (build_results(), build_tagging_results()):
        assert {figure.title for figure in brief_figures(results)} <= rows(results).keys()
    assert rows({"accuracy": 0.5}) == {"accuracy": "50.0 %"} and rows({}) == {}


def test_every_label_of_few() -> None:
    assert rows(build_results())["negative"] == (
        "F1 82.2 %, F1, dense head 83.4 %, precision 81.9 %, recall 82.5 %, texts 400, predicted 403"
    )


def test_the_worst_of_many_and_how_many_others() -> None:
    shown = rows(without_dense(build_results()) | build_many_classes())
    assert sum(name.startswith("label_") for name in shown) == 5 and shown[""] == "and 72 more in the report"
    assert shown["label_39"].startswith("F1 2.5 %") and "dense" not in shown["label_39"]


def test_a_label_is_no_markup() -> None:
    shown = rows(without_dense(build_results()) | build_classes({"[bold]a": [3, 1], "[/]": [1, 3]}))
    assert {"[bold]a", "[/]"} <= shown.keys()


def test_a_table_that_is_not_asked_for_is_not_there() -> None:
    assert not re.search(r"kept|likeness|Confusions", printed(build_results()))


AGREEMENT = {
    "texts": 113,
    "explainers": {
        name: {
            figure: {"mean": 0.643, "low": 0.595, "high": 0.685}
            for figure in ("ap", "ap_chance", "ap_phrase", "ap_size", "ap_label", "f1_gold", "f1_training")
        }
        for name in ("dla", "random", "untrained")
    },
}


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_table_too_broad_for_lines_is_a_table_and_none_of_its_cells_is_broken(width: int) -> None:
    stream = io.StringIO()
    print_results({"agreement": AGREEMENT}, Console(file=stream, width=width))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width and "Whose words are people's" in lines
    [row] = [line for line in lines if line.startswith("this model before training")]
    assert row.split("  ")[1].strip() == "0.643 [0.595, 0.685]"
    left_out = [line for line in lines if line.startswith("In the results: ")]
    assert bool(left_out) == (width < 160) and row.count("0.643") == (7 if width == 160 else row.count("0.643"))
