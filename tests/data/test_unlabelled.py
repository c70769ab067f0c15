"""Texts without labels in a table: which column is read, for which task."""

from __future__ import annotations

import pytest

from splade.data.types import Table
from splade.data.unlabelled import texts_to_classify, texts_to_tag
from splade.errors import DataError

TEXTS = ["one text", "and another one"]


def table(**columns: list[object]) -> Table:
    return Table(columns, "mine.jsonl")


def test_the_column_asked_for_then_the_trainings_then_the_usual_one() -> None:
    both = table(text=["a", "b"], review=["c", "d"], body=["e", "f"])
    assert texts_to_classify(both, "body", {"text_column": "review"})[0] == ["e", "f"]
    assert texts_to_classify(both, None, {"text_column": "review"})[0] == ["c", "d"]
    assert texts_to_classify(both, None, {"text_column": "gone"})[0] == ["a", "b"]


def test_a_classifier_finds_a_column_that_can_be_meant_and_says_so() -> None:
    texts, notes = texts_to_classify(table(review=list(TEXTS), id=[1, 2]), None, {})
    assert texts == TEXTS and "column 'review'" in notes[0] and "--column" in notes[0]


def test_a_tagger_reads_words_and_texts() -> None:
    words = [["John", "saw"], ["it"]]
    assert texts_to_tag(table(tokens=list(words), text=list(TEXTS)), None, {})[0] == words
    assert texts_to_tag(table(text=list(TEXTS)), None, {})[0] == TEXTS
    assert texts_to_tag(table(mine=list(words)), "mine", {})[0] == words
    with pytest.raises(DataError, match="no column 'tokens' or 'text', only: other; name the one to read"):
        texts_to_tag(table(other=list(TEXTS)), None, {})


def test_a_column_that_is_not_there() -> None:
    for read in (texts_to_classify, texts_to_tag):
        with pytest.raises(DataError, match=r"mine\.jsonl has no column 'gone', only: text"):
            read(table(text=list(TEXTS)), "gone", {})
