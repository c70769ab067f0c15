"""Which words are deleted: spans as people give them, and the rule for long texts."""

from __future__ import annotations

import numpy as np
import pytest

from splade.attribution.deletions import MOST_WORDS, Deletions, words_in, words_to_delete
from splade.attribution.explanation import WordScore
from splade.errors import ConfigError, DataError

TEXT = "It is not  very good, not good at all!"


def spans(given: object, texts: list[str] | None = None) -> list[list[list[tuple[int, int]]]]:
    deletions = Deletions.asked(True, given, False)
    assert deletions is not None
    return [found.spans for found in deletions.of_texts([TEXT] if texts is None else texts)]


def words(text: str, scores: dict[int, float] | None = None) -> list[WordScore]:
    found, start = [], 0
    for n, word in enumerate(text.split()):
        found.append(WordScore(word, start, start + len(word), (scores or {}).get(n, 0.0)))
        start += len(word) + 1
    return found


def test_nothing_is_asked_for_unless_interactions_are() -> None:
    assert Deletions.asked(False, None, False) is None
    assert Deletions.asked(True, None, True) == Deletions(None, every=True)
    for given, name in (((["good"], False), "spans"), ((None, True), "all_words")):
        with pytest.raises(ConfigError, match=f"{name} was given, .* add interactions=True"):
            Deletions.asked(False, *given)
    with pytest.raises(ConfigError, match="True or False was expected"):
        Deletions.asked("yes", None, False)  # type: ignore[arg-type]
    for given in ("not good", 5):
        with pytest.raises(DataError, match="a list was expected"):
            Deletions.asked(True, given, False)


def test_words_are_looked_for_in_every_text() -> None:
    assert spans(["Not good"]) == [[[(22, 30)]]]  # whatever the case
    assert spans(["not very"]) == [[[(6, 15)]]]  # whatever the space
    assert spans(["good"]) == [[[(16, 20)], [(26, 30)]]]  # each place by itself
    assert spans(["is ... all"]) == spans(["is…all"]) == [[[(3, 5), (34, 37)]]]  # others may stand between
    assert spans(["all!", "!"]) == [[[(34, 38)], [(37, 38)]]]
    found = Deletions(["oo", "good"]).of_texts([TEXT, "bad"])  # no part of a word
    assert [one.not_found for one in found] == [["oo"], ["oo", "good"]]
    with pytest.raises(DataError, match=r"The span ' \.\.\. ' has no word"):
        spans([" ... "])


def test_characters_are_given_a_text_each() -> None:
    assert spans([(6, 9)]) == spans([[(6, 9)]]) == spans([np.array([6, 9])]) == [[[(6, 9)]]]
    assert spans([(6, 9), (0, 2)]) == [[[(6, 9)], [(0, 2)]]]
    assert spans([((6, 9), (16, 20))]) == [[[(6, 9), (16, 20)]]]  # together
    assert spans([[(0, 2)], []], [TEXT, "a"]) == [[[(0, 2)]], []]
    with pytest.raises(DataError, match=r"spans has 1 entries for 2 text\(s\)"):
        spans([(0, 2)], [TEXT, TEXT])
    with pytest.raises(DataError, match="no part of the text"):
        spans([(0, 200)])
    with pytest.raises(DataError, match="pair of whole numbers"):
        spans([[(0, 1, 2)]])


def test_a_word_with_a_character_in_a_span_goes_whole() -> None:
    some = words("not very good")
    assert words_in(some, [(1, 5)]) == {0, 1} and words_in(some, [(0, 3), (9, 13)]) == {0, 2}
    with pytest.raises(DataError, match=r"The span \(3, 4\) holds no word"):
        words_in(some, [(3, 4)])


def test_every_word_of_a_short_text_that_is_read() -> None:
    some = words("a b c d")
    assert words_to_delete(some, 7, every=False) == [0, 1, 2, 3]
    assert words_to_delete(some, 4, every=False) == [0, 1]  # what is beyond the model's reach has no say
    assert words_to_delete([], 0, every=True) == []


def test_of_a_long_text_negations_and_loud_words_and_those_beside_them() -> None:
    text = " ".join(["never" if n == 50 else "film" for n in range(300)])
    some = words(text, {100: -2.0, 299: 1.0})
    assert words_to_delete(some, len(text), every=False) == [49, 50, 51, 99, 100, 101, 298, 299]
    loud = words(text, {n: 1.0 + n for n in range(300)})
    chosen = words_to_delete(loud, len(text), every=False)
    assert len(chosen) == MOST_WORDS and {49, 50, 51, 299} <= set(chosen)
    assert words_to_delete(loud, len(text), every=True) == list(range(300))
