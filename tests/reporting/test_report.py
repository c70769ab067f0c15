from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from splade.reporting.report import shown_sentences, whole_numbers, write_report
from splade.reporting.sentences import Explained, explained
from tests.reporting.builders import (
    build_classes,
    build_explanation,
    build_history,
    build_many_classes,
    build_results,
    build_tagging_results,
)

SECTIONS = [
    "Worth knowing",
    "Explained sentences",
    "Label by label",
    "Beside a dense head",
    "Sparsity",
    "Identity",
    "Completeness",
    "Separation",
    "Grounding",
    "Cost",
    "Training",
    "The model",
    "How to reproduce",
]


class Page(HTMLParser):
    """Collects headings, tags and every address a browser would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("run") / "new" / "report.html"
    write_report(path, build_results(), build_history(), [build_explanation(), build_explanation("")])
    return path.read_text(encoding="utf-8")


def headings(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_every_section_is_there(page: str) -> None:
    assert headings(page) == SECTIONS


def test_it_needs_nothing_else(page: str) -> None:
    parsed = Page(page)
    assert all(address.startswith("#") for address in parsed.addresses)
    assert not {"script", "link", "img", "iframe"} & set(parsed.tags)
    assert "url(http" not in page and "@import" not in page


def test_every_figure_has_a_line_on_what_it_means(page: str) -> None:
    assert page.count("<svg") == page.count("<figcaption>") == 8
    assert not re.search(r"<figcaption>\s*</figcaption>", page)


def test_the_figures_are_those_of_the_results(page: str) -> None:
    for figure in ("83.2 %", "dense head 84.1 % (-0.9 points)", "27.3", "3.2e-06", "94.0 %", "31 duplicate texts"):
        assert figure in page.replace("\u00a0", " ")
    # Shares come in the order of their size, whatever the order in the file.
    assert page.index('<th scope="row">1 %</th>') < page.index('<th scope="row">10 %</th>')


def test_words_are_highlighted_by_side_and_strength() -> None:
    marks = {mark.text: mark for mark in explained(build_explanation(), largest=2.0).marks}
    assert marks["charming"].kind == "toward" and marks["often"].kind == "against" and marks["and"].kind == ""
    assert marks["charming"].opacity > marks["affecting"].opacity > marks["journey"].opacity > 0
    assert marks["charming"].title == "+1.234560, because of delightful, charming, witty"


def test_the_sum_line_names_every_summand(page: str) -> None:
    line = re.search(r'<div class="sum">(.*?)</div>', page, flags=re.DOTALL)
    assert line is not None
    summands = re.findall(r"<span>([^<]+?) ([+-]\d+\.\d{3})</span>", line.group(1))
    assert [name for name, _ in summands] == ["charming", "often", "affecting", "journey", "5 more words", "bias"]
    assert sum(round(1000 * float(score)) for _, score in summands) == 1585
    assert "<b>+1.585</b>" in line.group(1)


def test_text_and_names_are_escaped(tmp_path: Path) -> None:
    hostile = '<script>alert("x")</script>'
    explanation = build_explanation(f"{hostile} film", {hostile: (1.0, ['"><b>'])})
    results = build_results() | {"dataset": hostile, "notes": [hostile]}
    write_report(tmp_path / "report.html", results, [], [explanation])
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in written and '"><b>' not in written
    assert "&lt;script&gt;" in written


def test_a_run_that_measured_nothing_still_reports(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", {}, [], [])
    assert headings((tmp_path / "report.html").read_text(encoding="utf-8")) == ["How to reproduce"]


@pytest.mark.parametrize(
    ("keys", "section"),
    [
        ("grounding", "Grounding"),
        ("completeness", "Completeness"),
        ("separation", "Separation"),
        ("notes", "Worth knowing"),
        ("per_class", "Label by label"),
        ("dla", "Identity"),
        ("dense_accuracy dense", "Beside a dense head"),
        ("peak_rss_mb", "Cost"),
    ],
)
def test_a_section_without_figures_is_left_out(tmp_path: Path, keys: str, section: str) -> None:
    results = build_results() | dict.fromkeys(keys.split())
    write_report(tmp_path / "report.html", results, [], [build_explanation()])
    left = [name for name in SECTIONS if name not in (section, "Training")]
    assert headings((tmp_path / "report.html").read_text(encoding="utf-8")) == left


def test_truncation_and_another_target_are_said(tmp_path: Path) -> None:
    explanation = dataclasses.replace(build_explanation(), truncated=True, label="negative")
    write_report(tmp_path / "report.html", {}, [], [explanation])
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "longer than the model reads" in written and "predicted: negative" in written


class TestLabels:
    def section(self, tmp_path: Path, results: dict[str, Any]) -> str:
        write_report(tmp_path / "report.html", results, [], [])
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        start = page.index("<h2>Label by label</h2>")
        return page[start : page.index("</section>", start)]

    def test_few_have_a_table_and_a_matrix_that_can_be_heard(self, tmp_path: Path) -> None:
        section = self.section(tmp_path, build_results())
        assert "F1, dense head" in section
        assert '<th scope="row">negative</th><td class="n">82.2 %</td><td class="n">83.4 %</td>' in section
        matrix = section[section.index("<caption><b>Confusions") :]
        assert re.findall(r'<th scope="col" class="n">(\w+)</th>', matrix) == ["negative", "positive"]
        assert re.findall(r'class="n (\w+)" [^>]*>([\d,]+)<', matrix) == [
            ("toward", "330"),
            ("against", "70"),
            ("against", "73"),
            ("toward", "380"),
        ]

    def test_of_many_the_worst_are_shown_the_others_folded_and_confusions_listed(self, tmp_path: Path) -> None:
        results = {key: value for key, value in build_results().items() if not key.startswith("dense")}
        section = self.section(tmp_path, results | build_many_classes())
        shown, rest = section.split("<details>")
        folded, confusions = rest.split("</details>")
        assert shown.count('<th scope="row">') == 5 and folded.count('<th scope="row">') == 72
        assert "The other 72" in folded and "dense head" not in section
        assert '<th scope="row">label_39</th><td class="n">label_40</td><td class="n">39</td>' in confusions

    def test_they_are_escaped(self, tmp_path: Path) -> None:
        section = self.section(tmp_path, build_classes({"<script>": [3, 1], "b": [1, 3]}))
        assert "<script" not in section and "&lt;script&gt;" in section


def test_a_tagger_shows_which_type_is_taken_for_which(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", build_tagging_results(), [], [])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Label by label" not in page and 'title="38 of 1,668 (2.3 %) of LOC: PER"' in page


def test_all_sentences_have_one_scale(tmp_path: Path) -> None:
    """A weak word of a weak sentence must not look like a strong one of another."""
    weak = build_explanation("dull film", {"dull": (0.05, ["dull"])})
    shown = shown_sentences([build_explanation(), weak], [])
    strong, faint = (one.marks for one in shown.right if isinstance(one, Explained))
    assert (
        next(m for m in faint if m.text == "dull").opacity < next(m for m in strong if m.text == "charming").opacity / 2
    )


def test_wrong_predictions_say_what_the_data_say(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", {}, [], [build_explanation()], [(build_explanation(), "neg<b>ative")])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    right, wrong = page.split('<section id="wrong">')
    assert "wrong: the data say" not in right and "wrong: the data say neg&lt;b&gt;ative" in wrong


def eraser(mean: float, low: float, high: float) -> dict[str, Any]:
    """A row of one figure."""
    return {"aopc": {"sufficiency": {"mean": mean, "low": low, "high": high}}, "rows": 869}


def test_intervals_of_tables_are_text_and_no_tooltip(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", {"eraser": eraser(0.094, -0.09, 0.1)}, [], [])
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert '<td class="n">0.094<small>-0.090 to 0.100</small></td>' in page
    assert "Measured on 869 texts." in page and "95 % interval -0.090 to 0.100" in page


def test_no_line_ends_within_a_number_or_an_interval() -> None:
    said = whole_numbers("95 % interval 65.7 % to 78.1 %; random tokens -0.1 to -0.2, go to 5")
    assert said.split(" ") == [
        *("95\u00a0%", "interval", "65.7\u00a0%\u00a0to\u00a078.1\u00a0%;", "random", "tokens"),
        *("-0.1\u00a0to\u00a0-0.2,", "go", "to", "5"),
    ]
