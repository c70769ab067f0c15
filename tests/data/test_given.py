"""Texts, words and labels as people have them: taken in order, or refused in one sentence."""

from __future__ import annotations

from collections import deque
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from splade.data.given import Given, given_labels, given_sentences, given_texts, one_sentence, one_text, whole_number
from splade.errors import ConfigError, DataError

TEXTS = ["b", "a", ""]
SET = datasets.Dataset.from_dict({"text": TEXTS, "n": [1, 2, 3]})

COLLECTIONS: dict[str, Any] = {
    "tuple": tuple(TEXTS),
    "deque": deque(TEXTS),
    "values": dict(enumerate(TEXTS)).values(),
    "keys": dict.fromkeys(TEXTS).keys(),
    "series": pd.Series(TEXTS, index=[2, 0, 1]),
    "series of objects": pd.Series(TEXTS, dtype=object),
    "series of strings": pd.Series(TEXTS, dtype="string[python]"),
    "series of pyarrow": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "series of arrow": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    "series of categories": pd.Series(TEXTS, dtype="category"),
    "index": pd.Index(TEXTS),
    "array of objects": np.array(TEXTS, dtype=object),
    "array of strings": np.array(TEXTS),
    "column": SET["text"],
    "column of a stream": SET.to_iterable_dataset()["text"],
    "arrow": pa.array(TEXTS),
    "chunks": pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_whatever_has_an_order_is_a_list_of_texts(name: str) -> None:
    for given in (given_texts(COLLECTIONS[name]), given_sentences(COLLECTIONS[name])):
        assert given.items == TEXTS and {type(text) for text in given.items} == {str}


def test_a_generator_is_read_once() -> None:
    assert given_texts(text for text in TEXTS).items == TEXTS


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    assert given_texts(["a\ud800"]).items == ["a?"] and one_text("\udfffa", "many") == "?a"
    assert given_sentences([["a\ud800", "b"]]).items == [["a?", "b"]]


@pytest.mark.parametrize("index", [[5, 3, 4], ["x", "x", "y"], pd.MultiIndex.from_tuples([(1, 2), (1, 2), (0, 0)])])
def test_answers_to_a_series_have_its_index(index: Any) -> None:
    answers = given_texts(pd.Series(TEXTS, index=index)).answers([[1], {"a": 2}, Given([])])
    assert answers.index.equals(pd.Series(TEXTS, index=index).index)
    assert answers.tolist() == [[1], {"a": 2}, Given([])]
    assert given_texts(TEXTS).answers((1, 2, 3)) == [1, 2, 3]


def test_a_series_of_a_library_on_top_of_pandas_is_one() -> None:
    class Own(pd.Series):  # type: ignore[misc]
        pass

    assert given_texts(Own(TEXTS, index=[2, 1, 0])).answers([1, 2, 3]).index.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("a b", "One text was given where a list of texts was expected; put it in a list"),
        (b"a b", "Bytes were given where a list of texts was expected; decode them"),
        (None, "None was given where a list of texts was expected"),
        (3, "3 was given"),
        (float("nan"), "nan was given"),
        (pd.Series(TEXTS).str, "was given where a list"),
        ({"text": TEXTS}, r"A dict was given .* values\(\)"),
        (datasets.DatasetDict({"train": SET}), "A DatasetDict was given"),
        ({"a", "b"}, "A set, which has no order, was given"),
        (pd.DataFrame({"text": TEXTS, "n": 1}), r"A DataFrame was given .*; choose one of its columns \(text, n\)"),
        (SET, r"A Dataset was given .*; choose one of its columns \(text, n\)"),
        (pa.table({"text": TEXTS}), r"A Table was given .* \(text\)"),
        (np.array([TEXTS]), r"An array of shape \(1, 3\) was given .* one dimension"),
        (np.array("a"), r"An array of shape \(\) was given"),
        (["a", None], r"at position 1 \(counted from 0\) is missing \(None\)"),
        (["a", float("nan")], r"at position 1 \(counted from 0\) is missing \(nan\)"),
        (pd.Series(["a", None], index=["x", "y"]), r"at position 1 \(counted from 0, index 'y'\) is missing"),
        (pd.Series(["a", pd.NA], dtype="string"), r"at position 1 \(counted from 0, index 1\) is missing \(<NA>\)"),
        (np.ma.array(["a", "b"], mask=[0, 1]), "at position 1 .* is missing"),
        (["a", 1], r"at position 1 \(counted from 0\) is 1 \(int\)"),
        (np.arange(2), "at position 0"),
        (torch.arange(2), "at position 0"),
        (np.array([b"a"]), "at position 0"),
        ([{"text": "a"}], "at position 0"),
    ],
)
def test_what_is_no_list_of_texts(texts: object, sentence: str) -> None:
    for read in (given_texts, given_sentences):
        with pytest.raises(DataError, match=sentence) as error:
            read(texts)
        assert "\n" not in str(error.value)


def test_a_long_list_is_checked_in_no_time() -> None:
    """Where an item stands is only looked up to say it."""
    with pytest.raises(DataError, match="at position 200000"):
        given_texts(pd.Series(["a"] * 200_000 + [None]))


def test_words_are_for_taggers() -> None:
    assert given_sentences([["a", "b c"], np.array(["d"]), pd.Series(["e"], index=[4]), ("f",), []]).items == [
        *(["a", "b c"], ["d"], ["e"], ["f"], []),
    ]
    with pytest.raises(DataError, match=r"is \['a'\] \(list\), where a string was expected"):
        given_texts([["a"]])
    with pytest.raises(DataError, match=r"word 1 of the one at position 1 \(counted from 0\) is None"):
        given_sentences(["a", ["a", None]])
    with pytest.raises(DataError, match="a string or a list of words"):
        given_sentences([np.array([["a"]])])
    assert one_sentence(["a", " ", "b"], "many") == ["a", " ", "b"]


NAMES = ["bad", "good", "true", "false"]


def numbers(labels: object, names: list[str], *, numbered: bool = False) -> list[int]:
    return given_labels(labels, Given(["text"] * len(labels)), names, numbered=numbered)  # type: ignore[arg-type]


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            ["good", "bad", " good "],
            pd.Series(["good", "bad", "good"], dtype="category", index=[2, 0, 1]),
            np.array(["good", "bad", "good"]),
        ],
    )
    def test_names_in_any_collection(self, labels: object) -> None:
        assert numbers(labels, NAMES) == [1, 0, 1]

    @pytest.mark.parametrize(
        "labels", [[1, 0, 3], np.array([1, 0, 3]), pd.Series([1.0, 0.0, 3.0]), torch.tensor([1, 0, 3])]
    )
    def test_numbers_where_the_model_knows_them(self, labels: object) -> None:
        assert numbers(labels, NAMES, numbered=True) == [1, 0, 3]
        with pytest.raises(DataError, match=r"at position 0 .* is the number 1.*, but the model knows .* by name"):
            numbers(labels, NAMES)

    @pytest.mark.parametrize("numbered", [False, True])
    def test_a_class_that_is_called_by_a_number_is_meant_by_it(self, numbered: bool) -> None:
        """And not the class in that place."""
        stars = ["1", "2", "3"]
        assert numbers([1, 3.0, np.int64(2), "2"], stars, numbered=numbered) == [0, 2, 1, 1]
        with pytest.raises(DataError, match="no label '0'"):
            numbers([0], stars, numbered=numbered)

    def test_truth_is_a_name_or_nothing(self) -> None:
        assert numbers([True, np.bool_(False)], NAMES) == [2, 3]
        assert numbers(np.array([True, False]), ["False", "True"]) == [1, 0]
        with pytest.raises(DataError, match="no label 'True'"):
            numbers([True], ["bad", "good"], numbered=True)

    @pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
    def test_none_is_missing(self, missing: object) -> None:
        with pytest.raises(DataError, match=r"The label at position 1 \(counted from 0\) is missing"):
            numbers(["good", missing], NAMES, numbered=True)

    @pytest.mark.parametrize("label", ["god", "0", 9, -1, 0.5, float("inf"), ["good"], np.array(["a", "b"])])
    def test_what_is_no_label(self, label: object) -> None:
        with pytest.raises(
            DataError, match=r"no label .* \(which stands at position 0 .*\); its labels are: bad, good"
        ):
            numbers([label], NAMES, numbered=True)

    @pytest.mark.parametrize("labels", ["good", {"good"}, pd.DataFrame({"label": ["good"]}), None])
    def test_what_is_no_list_of_labels(self, labels: object) -> None:
        with pytest.raises(DataError, match="where a list of labels was expected"):
            given_labels(labels, Given(["text"]), NAMES, numbered=False)

    def test_two_series_must_have_one_index(self) -> None:
        texts = given_texts(pd.Series(["a", "b"], index=[1, 0]))
        labels = pd.Series(["good", "bad"], index=[0, 1])
        with pytest.raises(DataError, match="another index"):
            given_labels(labels, texts, NAMES, numbered=False)
        assert given_labels(labels.loc[texts.index], texts, NAMES, numbered=False) == [0, 1]
        assert given_labels(labels.to_numpy(), texts, NAMES, numbered=False) == [1, 0]


def test_a_whole_number() -> None:
    assert whole_number(np.int64(3), "size", 1) == 3 and whole_number(0, "word", 0) == 0
    for wrong in (True, np.True_, 1.0, "1", None, 0, -1):
        with pytest.raises(ConfigError, match=r"size is .*, but a whole number from 1 on was expected"):
            whole_number(wrong, "size", 1)


def test_texts_in_a_list_of_lists_are_not_taken_for_words() -> None:
    with pytest.raises(DataError, match=r"all words of the one .* have spaces \('I live in Paris.'\)"):
        given_sentences([["I live in Paris.", "He went to London."]])
    assert given_sentences([["New York", "won"]]).items == [["New York", "won"]]
