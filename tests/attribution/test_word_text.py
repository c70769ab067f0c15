"""Words deleted, kept and hidden."""

from __future__ import annotations

from splade.attribution.word_text import WordText


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


def test_the_words_left_are_known_by_where_they_stand() -> None:
    """Also where two of them now make one: what is left of `good!film` without the mark is `good` and `film`."""
    for text, gone in ((" Good, but  long. ", [0]), ("good!film", [1]), ("a  b c", [0, 2]), ("x", [0]), ("", [])):
        whole = WordText.of(text)
        left = whole.shortened(gone)
        assert left.words == [word for n, word in enumerate(whole.words) if n not in gone]
        assert left.text == whole.without(gone)
    assert WordText.of_words(["", " ", "a"]).shortened([0]).words == ["", "a"]  # white space at the edge goes
