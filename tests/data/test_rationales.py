"""Words that people marked, read from the columns of a split."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from splade.config.schema import DataConfig
from splade.data.loader import load_dataset
from splade.data.rationales import (
    Marking,
    marking,
    mean_share,
    rationale_hash,
    rationale_texts,
    runs,
    white_space_words,
)
from splade.errors import DataError

TEXT = "you are a  silly man"


def one(**columns: object):  # type: ignore[no-untyped-def]
    extra = {name: [value] for name, value in columns.items()}
    texts = rationale_texts([TEXT], extra)
    assert texts is not None
    return texts[0]


def test_words_are_those_between_white_space() -> None:
    text = " don't\tstop ,\u00a0now!\n"
    assert [text[start:end] for start, end in white_space_words(text)] == text.split() == ["don't", "stop", ",", "now!"]


def test_a_mask() -> None:
    found = one(rationale=[0, 0, 0, 1, 1], id="post 7")
    assert (found.gold.tolist(), found.spans, found.name) == ([False, False, False, True, True], [(3, 5)], "post 7")
    assert [TEXT[slice(*found.words[n])] for n in np.flatnonzero(found.gold)] == ["silly", "man"]


def test_spans_stay_as_they_were_marked() -> None:
    found = one(rationale=[[3, 4], [4, 5], [0, 1]])
    assert (found.gold.tolist(), found.spans) == ([True, False, False, True, True], [(3, 4), (4, 5), (0, 1)])


def test_votes_say_what_anybody_marked_and_the_rationale_what_most_did() -> None:
    extra = {"rationale": [[0, 0, 0, 1, 0]], "rationale_votes": [[0, 1, 0, 2, 1]]}
    anybody, most = (rationale_texts([TEXT], extra, marked)[0] for marked in ("any", "most"))  # type: ignore[index]
    assert anybody.gold.tolist() == [False, True, False, True, True] and anybody.spans == [(1, 2), (3, 5)]
    assert most.gold.tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("nothing", [None, [], [0, 0, 0, 0, 0]])
def test_a_text_without_marked_words_has_no_rationale(nothing: object) -> None:
    assert one(rationale=nothing).gold is None and not one(rationale=nothing).is_whole


def test_a_whole_text_is_told_apart_and_not_counted_in_the_mean_share() -> None:
    extra = {"rationale": [[1, 1, 1, 1, 1], [0, 1, 0, 0, 0], None]}
    whole, some, none = texts = rationale_texts([TEXT] * 3, extra)  # type: ignore[misc]
    assert (whole.is_whole, some.is_whole, none.is_whole) == (True, False, False)
    assert mean_share(texts) == 0.2 and mean_share([none]) is None
    assert marking(texts) == Marking(0.2, 1.0) and marking([none]) is None


def test_a_split_without_the_columns_has_none() -> None:
    assert rationale_texts([TEXT], {"groups": [["men"]]}) is None


def test_the_hash_is_of_the_columns_whatever_they_hold() -> None:
    columns: list[dict[str, list[object]]] = [{}, {"rationale": [[1]]}, {"rationale": [[0]]}, {"rationale": [{"a"}]}]
    assert len({rationale_hash(each) for each in columns}) == 4
    assert rationale_hash({"groups": [1]}) == rationale_hash({})


def test_runs() -> None:
    assert runs(np.array([1, 1, 0, 1, 0], dtype=bool)) == [(0, 2), (3, 4)] and runs(np.zeros(3, dtype=bool)) == []


@pytest.mark.parametrize(
    "columns, complaint",
    [
        ({"rationale": [0, 1]}, "Text 1 has 5 words between white space and [0, 1], 2 values in column 'rationale'"),
        ({"rationale": [0, 0, 2, 0, 0]}, "a 0 or 1 for each, or [start, end) spans of words, was expected"),
        ({"rationale": [[4, 6]]}, "[4, 6], 2 values in column 'rationale'"),
        ({"rationale": [[3, 3]]}, "[3, 3]"),
        ({"rationale": "silly man"}, "'silly man' in column 'rationale'"),
        ({"rationale_votes": [1, 2]}, "[1, 2], 2 values in column 'rationale_votes', where a count for each was"),
    ],
)
def test_what_is_no_rationale_is_refused(columns: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=re.escape(complaint)):
        one(**columns)


def test_samples_of_own_files_keep_texts_and_rationales_together(tmp_path: Path) -> None:
    """The word that is marked has the text's own number, so that it can be found again whatever is sampled."""
    rows = [
        {"text": " ".join(f"w{n}" if place == n % 5 else "and" for place in range(5)), "label": n % 2}
        | {"rationale": [int(place == n % 5) for place in range(5)]}
        for n in range(60)
    ]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    data = load_dataset(DataConfig(train_file=str(file), test_samples=4), seed=3)
    for split in (data.train, data.test):
        for text in rationale_texts(split.texts, split.extra) or ():
            (word,) = np.flatnonzero(text.gold)
            assert text.text[slice(*text.words[word])].startswith("w")
