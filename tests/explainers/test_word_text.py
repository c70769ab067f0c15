"""Words deleted, kept and hidden."""

from __future__ import annotations

from splade.explainers import WordText


def test_a_word_goes_with_the_space_before_it() -> None:
    text = WordText.of("Good, but  long.")
    assert text.words == ["Good", ",", "but", "long", "."]
    assert text.without([]) == text.text
    assert text.without([0]) == ", but  long."
    assert text.without([1]) == "Good but  long."
    assert text.without([3]) == "Good, but."
    assert text.without(range(5)) == ""
    assert text.only([0, 3]) == "Good  long"
    assert text.hiding([2], "[MASK]") == "Good, [MASK]  long."


def test_words_given_one_by_one_are_found_again() -> None:
    text = WordText.of_words(["it", "'s", "good"])
    assert text.text == "it 's good" and text.words == ["it", "'s", "good"]
    assert text.without([1]) == "it good" and text.only([]) == ""
