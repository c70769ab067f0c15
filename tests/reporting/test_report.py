from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from splade.reporting.report import explained, write_report
from tests.reporting.builders import build_explanation, build_history, build_results

SECTIONS = [
    "Label by label",
    "Worth knowing",
    "Explained sentences",
    "Grounding",
    "Sparsity",
    "Completeness",
    "Separation",
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
        assert figure in page
    # Shares come in the order of their size, whatever the order in the file.
    assert page.index('<td class="n">1 %</td>') < page.index('<td class="n">10 %</td>')


def test_words_are_highlighted_by_side_and_strength() -> None:
    marks = {mark.text: mark for mark in explained(build_explanation()).marks}
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
    ("key", "section"),
    [
        ("grounding", "Grounding"),
        ("completeness", "Completeness"),
        ("separation", "Separation"),
        ("notes", "Worth knowing"),
        ("per_class", "Label by label"),
    ],
)
def test_a_section_without_figures_is_left_out(tmp_path: Path, key: str, section: str) -> None:
    results = build_results()
    results[key] = None
    write_report(tmp_path / "report.html", results, [], [build_explanation()])
    left = [name for name in SECTIONS if name not in (section, "Training")]
    assert headings((tmp_path / "report.html").read_text(encoding="utf-8")) == left


def test_truncation_and_another_target_are_said(tmp_path: Path) -> None:
    explanation = dataclasses.replace(build_explanation(), truncated=True, label="negative")
    write_report(tmp_path / "report.html", {}, [], [explanation])
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "longer than the model reads" in written and "predicted: negative" in written
