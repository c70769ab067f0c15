"""Figures a label and confusions, in the report, the table and the model card."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from splade.reporting.by_class import class_rows, confusion_matrix, confusions, shown_and_others
from splade.reporting.model_card import write_model_card
from splade.reporting.report import write_report
from splade.reporting.results_table import print_results
from tests.reporting.builders import build_classes, build_many_classes, build_results, build_tagging_results

MEASURED = {"evaluated": 853, "completeness_tokens": {}}


def report(tmp_path: Path, results: dict[str, Any]) -> str:
    write_report(tmp_path / "report.html", results, [], [])
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def table(results: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_results(results | MEASURED, Console(file=stream, width=140))
    return stream.getvalue()


def card(tmp_path: Path, results: dict[str, Any]) -> str:
    write_model_card(tmp_path / "README.md", results, "seed: 1")
    return (tmp_path / "README.md").read_text(encoding="utf-8")


def without_dense(results: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if not key.startswith("dense")}


def test_rows_stand_beside_the_dense_baselines() -> None:
    negative, _ = class_rows(build_results())
    assert (negative.name, negative.support, negative.predicted) == ("negative", 400, 403)
    assert (
        negative.recall == 0.825
        and negative.f1 == pytest.approx(660 / 803)
        and negative.dense == pytest.approx(680 / 815)
    )
    assert class_rows(without_dense(build_results()))[0].dense is None
    assert class_rows({}) == confusion_matrix({}) == confusions({}) == []


def test_of_many_labels_the_worst_come_first() -> None:
    rows = class_rows(build_many_classes())
    shown, others = shown_and_others(rows)
    assert (len(shown), len(others)) == (5, 72) and max(row.f1 or 0 for row in shown) <= min(
        row.f1 or 0 for row in others
    )
    assert shown_and_others(rows[:12]) == (rows[:12], [])


def test_the_most_frequent_confusions() -> None:
    first, second = confusions(build_results())
    assert (first.gold, first.given, first.count, first.of) == ("positive", "negative", 73, 453)
    assert second.count == 70
    assert [one.count for one in confusions(build_many_classes())] == [39, 38, 37, 36, 36]


def test_a_matrix_is_shaded_by_the_share_of_its_row() -> None:
    rows = confusion_matrix(build_classes({"a": [90, 10], "b": [0, 0]}))
    right, wrong = rows[0].cells
    assert (right.kind, wrong.kind, right.opacity) == ("toward", "against", pytest.approx(9 * wrong.opacity))
    assert wrong.title == "10 of 100 texts (10.0 %) of a: b"
    assert [(cell.count, cell.kind, cell.opacity) for cell in rows[1].cells] == [("0", "", 0.0)] * 2
    assert confusion_matrix(build_many_classes()) == []


class TestReport:
    def test_few_labels_have_a_table_and_a_matrix_that_can_be_heard(self, tmp_path: Path) -> None:
        page = report(tmp_path, build_results())
        section = page[page.index("<h2>Label by label</h2>") : page.index("<h2>Worth knowing</h2>")]
        assert "F1, dense head" in section and "95 % interval 80.5 % to 85.6 %" in section
        assert '<th scope="row">negative</th><td class="n">82.2 %</td><td class="n">83.4 %</td>' in section
        matrix = section[section.index("<caption>") :]
        assert re.findall(r'<th scope="col" class="n">(\w+)</th>', matrix) == ["negative", "positive"]
        assert re.findall(r'class="n (\w+)" [^>]*>([\d,]+)<', matrix) == [
            ("toward", "330"),
            ("against", "70"),
            ("against", "73"),
            ("toward", "380"),
        ]

    def test_many_labels_show_the_worst_fold_the_others_and_list_confusions(self, tmp_path: Path) -> None:
        page = report(tmp_path, without_dense(build_results()) | build_many_classes())
        section = page[page.index("<h2>Label by label</h2>") : page.index("<h2>Worth knowing</h2>")]
        shown, folded = section.split("<details>")
        assert shown.count('<th scope="row">') == 5 and folded.count('<th scope="row">') == 72
        assert "The other 72, F1 " in folded and "<td>label_39</td><td>label_40</td>" in folded
        assert "<caption>" not in section and "dense head" not in section

    def test_a_tagger_shows_which_type_is_taken_for_which(self, tmp_path: Path) -> None:
        page = report(tmp_path, build_tagging_results())
        assert "Label by label" not in page and 'title="38 of 1,668 words (2.3 %) of LOC: PER"' in page

    def test_labels_are_escaped(self, tmp_path: Path) -> None:
        page = report(tmp_path, build_classes({"<script>": [3, 1], "b": [1, 3]}))
        assert "<script" not in page and "&lt;script&gt;" in page


class TestTable:
    def test_every_label_of_few(self) -> None:
        shown = table(build_results())
        assert (
            "F1 of negative" in shown
            and "0.8219  (precision 0.819, recall 0.825, 400 texts, dense head's F1 0.8344)" in shown
        )
        assert "positive for negative: 73 of 453" in shown
        assert "bad, 4.1% of all contribution" in shown and "awful, 6.0% of all contribution" in shown

    def test_the_worst_of_many_and_how_many_others(self) -> None:
        shown = table(without_dense(build_results()) | build_many_classes())
        assert shown.count("F1 of label_") == 5 and "F1 of the other 72 labels" in shown
        assert "label_39 for label_40: 39 of 40" in shown

    def test_a_label_is_no_markup(self) -> None:
        shown = table(without_dense(build_results()) | build_classes({"[bold]a": [3, 1], "[/]": [1, 3]}))
        assert "F1 of [bold]a" in shown and "[bold]a for [/]: 1 of 4" in shown


class TestCard:
    def test_every_label_of_few(self, tmp_path: Path) -> None:
        text = card(tmp_path, build_results())
        assert "| negative | 82.2 % | 81.9 % | 82.5 % | 400 | 403 |" in text
        assert (
            "Taken for another most often: positive for negative (73 of 453), negative for positive (70 of 400)."
            in text
        )

    def test_the_worst_of_many(self, tmp_path: Path) -> None:
        text = card(tmp_path, build_many_classes())
        assert "Of 77 labels, those with the lowest F1; the others have" in text
        assert len(re.findall(r"^\| label\\_\d", text, flags=re.MULTILINE)) == 5
