"""Interactions laid out for reading, in the terminal and on the page."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from splade.attribution.interactions import Interaction, Interactions, Through
from splade.reporting.interaction_rows import MOST_ROWS, interaction_table
from splade.reporting.interaction_terminal import print_interactions
from splade.reporting.report import write_report
from tests.reporting.builders import build_explanation, build_results

CHANGES = st.lists(st.floats(-9, 9), max_size=7)


def build(
    changes: list[float], share: float = 0.8124, bias: float = 0.0, word: str = "n't", number: int = 0
) -> Interaction:
    others = [Through(n + 1, f"w{n}", n, n + 1, 0.1296, change) for n, change in enumerate(changes)]
    total = share + bias + sum(changes)
    return Interaction((number,), word, 0, 3, share, total, "positive", others, bias)


def many(count: int) -> Interactions:
    return Interactions("positive", "positive", [build([1.0], word=f"x{n}", number=n) for n in range(count)])


def printed(interactions: Interactions, width: int = 80) -> str:
    stream = io.StringIO()
    print_interactions(interactions, Console(file=stream, width=width))
    return stream.getvalue()


@given(CHANGES, st.floats(-3, 3), st.floats(-1, 1) | st.just(0.0))
def test_every_row_adds_up_as_printed(changes: list[float], share: float, bias: float) -> None:
    for row in interaction_table(Interactions("positive", "positive", [build(changes, share, bias)], every=True)).rows:
        parts = [float(row.own), *(float(one.printed) for one in row.through)]
        assert sum(parts) == pytest.approx(float(row.effect), abs=1e-9)
        assert len(row.through) <= 5


def test_the_strongest_others_are_named_and_the_rest_folded() -> None:
    found = Interactions("negative", "negative", [build([0.1, 2.4, -0.5, 0.2, -0.1], bias=0.3)])
    (row,) = interaction_table(found).rows
    assert (row.name, row.own, row.then) == ("n't", "+0.812", "positive")
    assert [(one.name, one.printed) for one in row.through] == [
        *(("w1", "+2.400"), ("w2", "-0.500"), ("w3", "+0.200"), ("bias", "+0.300")),  # the rest comes to nothing
    ]
    folded = interaction_table(Interactions("negative", "negative", [build([0.1, 2.4, -0.5, 0.2, 0.1])])).rows[0]
    assert (folded.through[-1].name, folded.through[-1].printed) == ("2 more", "+0.200")


def test_a_sentence_says_how_to_read_the_largest() -> None:
    table = interaction_table(Interactions("negative", "negative", [build([3.7731, 0.2])]))
    assert table.notes == ["“w0” says +0.130 beside “n't”, and -3.643 without it."]
    assert interaction_table(Interactions("negative", "negative", [build([])])).notes == []


def test_what_a_reader_must_know_is_said() -> None:
    pair = replace(build([1.0]), numbers=(0, 1), text="not good", together=-0.4567)
    found = replace(many(12), spans=[pair], left_out=7)
    found = replace(found, words=[replace(one, shifted=True) for one in found.words])
    table = interaction_table(found)
    assert len(table.rows) == 1 + MOST_ROWS and table.rows[0].name == "not good"
    assert table.notes[1:] == [
        "Deleting “not good” at once takes 0.457 less than each of the two alone, added up.",
        "Words not shown, which do less: 4.",
        "The text is long: 7 words that say little were not deleted.",
        "The text is longer than the model reads: where a word goes, others come in at its end.",
    ]
    assert len(interaction_table(replace(many(12), every=True)).rows) == 12


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_terminal_breaks_between_summands(width: int) -> None:
    hostile = build([2.0, -1.0, 0.5, 0.25], word="bad\x1b[31m[red]", bias=0.2)
    shown = printed(Interactions("negative", "negative", [hostile]), width)
    assert max(map(len, shown.splitlines())) <= width and "\x1b" not in shown and "[red]" in shown
    assert re.search(r"w0 \+2\.000", shown) and "(then positive)" in shown
    assert printed(Interactions("negative", "negative", [])) == "Deleting a word changes nothing.\n"


def test_the_page_has_a_table_where_words_act_through_others(tmp_path: Path) -> None:
    plain = build_explanation()
    found = Interactions("positive", "positive", [build([2.0, 1.0], word="<b>n't")])
    write_report(tmp_path / "report.html", build_results(), [], [replace(plain, interactions=found), plain])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("Words that act through others") == 1 and "&lt;b&gt;n&#39;t" in page and "<b>n't" not in page
    assert "<span>w0 +2.000</span>" in page and "beside “&lt;b&gt;n&#39;t”, and -1.870 without it." in page
