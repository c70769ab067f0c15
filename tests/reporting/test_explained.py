from __future__ import annotations

import dataclasses
import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from splade.attribution.explanation import NO_WORD, WordScore
from splade.reporting.explained import round_to_sum, segments, token_rows, word_rows
from tests.reporting.builders import build_explanation

NUMBERS = st.lists(st.floats(-50, 50), min_size=1, max_size=40)


@given(NUMBERS)
def test_rounded_numbers_add_up_and_stay_within_a_unit(numbers: list[float]) -> None:
    total = math.fsum(numbers)
    units = round_to_sum(numbers, total)
    assert sum(units) == round(total * 1000)
    assert all(abs(unit - number * 1000) < 1 + 1e-6 for unit, number in zip(units, numbers, strict=True))


def test_rounding_leaves_alone_what_adds_up_already() -> None:
    assert round_to_sum([1.0, 0.2504, -0.25], 1.0004) == [1000, 250, -250]


@given(st.lists(st.floats(-5, 5), max_size=30), st.floats(-2, 2), st.integers(0, 12))
def test_every_printed_column_adds_up(scores: list[float], bias: float, top: int) -> None:
    names = [f"w{i}" for i in range(len(scores))]
    scored = {name: (score, [f"t-{name}"]) for name, score in zip(names, scores, strict=True)}
    explanation = build_explanation(" ".join(names), scored, bias)
    for rows in (word_rows(explanation, top), token_rows(explanation, top)):
        printed = [Decimal(row.printed) for row in rows]
        assert sum(printed[:-1]) == printed[-1]
        assert math.isclose(math.fsum(row.score for row in rows[:-1]), rows[-1].score, abs_tol=1e-9)


def test_the_strongest_words_are_shown_in_reading_order_and_the_rest_folded() -> None:
    rows = word_rows(build_explanation(), top=2)
    assert [row.name for row in rows] == ["charming", "affecting", "7 more words", "bias", "logit of positive"]


def test_words_without_a_say_get_no_row() -> None:
    names = [row.name for row in word_rows(build_explanation(), top=12)]
    assert names == ["charming", "often", "affecting", "journey", "5 more words", "bias", "logit of positive"]


def test_a_broken_sum_is_shown_and_not_rounded_away() -> None:
    explanation = dataclasses.replace(build_explanation(), bias=0.5)
    gap = next(row for row in word_rows(explanation, 12) if row.name == "not accounted for")
    assert math.isclose(gap.score, 0.1234 - 0.5)


@given(st.text(alphabet="ab<& \n\té漢\u200b", max_size=60))
def test_segments_give_the_text_back(text: str) -> None:
    assert "".join(segment.text for segment in segments(build_explanation(text))) == text


def test_segments_leave_out_the_row_of_no_word() -> None:
    explanation = build_explanation("good film", {"good": (1.0, ["good"])})
    explanation = dataclasses.replace(explanation, words=[WordScore(NO_WORD, 0, 0, 0.3), *explanation.words])
    assert [(s.text, s.word.score if s.word else None) for s in segments(explanation)] == [
        ("good", 1.0),
        (" ", None),
        ("film", 0.0),
    ]
