from __future__ import annotations

import dataclasses
import io
import re
from decimal import Decimal

import pytest
from rich.console import Console

from splade.attribution.explanation import Explanation, TokenScore, WordScore
from splade.reporting.terminal import print_explanation
from tests.reporting.builders import build_explanation


def printed(explanation: Explanation, top: int = 12, terminal: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    colours = "standard" if terminal else None
    print_explanation(explanation, Console(file=out, width=width, force_terminal=terminal, color_system=colours), top)
    return out.getvalue()


@pytest.mark.parametrize("top", [0, 1, 3, 12])
def test_both_printed_columns_add_up_to_the_printed_logit(top: int) -> None:
    _, words, tokens = printed(build_explanation(), top).split("\n\n")
    for table in (words, tokens):
        column = [Decimal(number) for number in re.findall(r"[+-]\d+\.\d{3}", table)]
        assert sum(column[:-1]) == column[-1] == Decimal("1.585")
        assert len(column) <= top + 3  # the others, the bias and the logit beside them


def test_it_reads_without_colour_at_80_columns() -> None:
    out = printed(build_explanation())
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "positive  97.0 %" in out
    assert re.search(r"often +-0\.218 +█\| +sometimes", out)
    assert re.search(r"charming +\+1\.23\d +\|██████ +delightful, charming, witty", out)


def test_words_are_coloured_by_their_side_in_a_terminal() -> None:
    out = printed(build_explanation(), terminal=True)
    assert "\x1b[1;32mcharming\x1b[0m" in out  # bold green: the strongest, toward
    assert "\x1b[31moften\x1b[0m" in out  # red: against


def test_another_target_than_the_prediction_is_named() -> None:
    explanation = build_explanation()
    other = dataclasses.replace(explanation, target="negative", logits={"positive": 0.0, "negative": 1.58462})
    assert "explained: negative  3.0 %" in printed(other)


def test_truncation_is_said_and_an_empty_text_prints() -> None:
    assert "longer than the model reads" in printed(dataclasses.replace(build_explanation(), truncated=True))
    empty = printed(build_explanation(""))
    assert "(empty text)" in empty and "+0.123" in empty


def test_a_text_can_neither_style_nor_steer_the_terminal() -> None:
    out = printed(build_explanation("a [red]charming[/red] \x1b[2J film\x07"))
    assert "[red]charming[/red]" in out
    assert "\x1b" not in out and "\x07" not in out


def test_bars_are_ascii_where_the_output_is() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_explanation(build_explanation(), Console(file=out, width=80))
    out.seek(0)
    assert "|######" in out.read()


def test_a_narrow_terminal_cuts_the_reasons_and_never_a_number() -> None:
    reasons = ["exquisite", "delightful", "beautifully", "lovely", "wonderful"]
    words = [WordScore("beautifully", 0, 11, 2.456, reasons), WordScore("clever", 12, 18, 1.543, reasons)]
    explanation = Explanation(
        text="beautifully clever",
        label="positive",
        target="positive",
        logits={"positive": 4.5, "negative": -4.5},
        probabilities={"positive": 1.0, "negative": 0.0},
        bias=0.501,
        tokens=[TokenScore("exquisite", 5, 3.999, 1.0, 1)],
        words=words,
    )
    console = Console(width=60, record=True, file=io.StringIO())
    print_explanation(explanation, console)
    printed = console.export_text()
    for number in ("+2.456", "+1.543", "+0.501", "+4.500"):
        assert number in printed
