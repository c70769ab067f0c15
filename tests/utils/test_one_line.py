"""Text of others in a line: it keeps its length, and no reader finds two lines or fields."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from splade.utils.one_line import one_field, one_line


@given(st.text())
def test_is_one_line_without_control_characters(text: str) -> None:
    line = one_line(text)
    assert len(line) == len(text) and len(line.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
    line.encode("utf-8")


def test_what_words_are_made_of_stays() -> None:
    text = "caf\u00e9\u00a0\U0001f468\u200d\U0001f469 a\u00adb"
    assert one_line(text) == text


@given(st.text())
def test_a_field_has_no_white_space_and_is_not_empty(text: str) -> None:
    assert len(one_field(text).split()) == 1 and one_field(text).split() == [one_field(text)]
