from __future__ import annotations

import pytest

from splade.data.columns import distinct_labels, encode_labels, raw_split
from splade.data.types import Columns, RawSplit
from splade.errors import DataError


def sentence(columns: Columns, text: str | None = None, label: str | None = None) -> str:
    with pytest.raises(DataError) as raised:
        raw_split(columns, text, label, "a.csv")
    return str(raised.value)


def build_raw(labels: list[str]) -> RawSplit:
    return RawSplit(["text"] * len(labels), labels, {}, "a.csv")


def test_other_columns_are_kept() -> None:
    split = raw_split({"text": ["a", ""], "label": [0, 1], "groups": [["x"], []]}, None, None, "a.csv")
    assert split.texts == ["a", ""]  # an empty text is a text
    assert split.extra == {"groups": [["x"], []]}


def test_columns_can_be_named() -> None:
    split = raw_split({"review": ["a"], "stars": ["5"]}, "review", "stars", "a.csv")
    assert (split.texts, split.labels) == (["a"], ["5"])


@pytest.mark.parametrize(
    ("written", "label"),
    [(1, "1"), (1.0, "1"), ("1", "1"), ("1.0", "1"), ("1.5", "1.5"), (" good ", "good"), (True, "true"), (-1, "-1")],
)
def test_one_class_however_it_is_written(written: object, label: str) -> None:
    assert raw_split({"text": ["a"], "label": [written]}, None, None, "a.csv").labels == [label]


def test_half_a_surrogate_pair_is_made_harmless() -> None:
    assert raw_split({"text": ["a\ud800b é"], "label": [1]}, None, None, "a.csv").texts == ["a?b é"]


def test_a_missing_column_lists_those_found_and_the_nearest() -> None:
    assert sentence({"txet": ["a"], "label": [0]}) == (
        "a.csv has no column 'text', only: txet, label; name the right one with data.text_column. Did you mean 'txet'?"
    )
    assert "no column 'label', only: text, stars; name the right one with data.label_column." in sentence(
        {"text": ["a"], "stars": [0]}
    )


@pytest.mark.parametrize("missing", [None, float("nan"), "", "  ", "NaN"])
def test_a_missing_label_names_the_row(missing: object) -> None:
    assert sentence({"text": ["a", "b"], "label": [0, missing]}) == (
        "a.csv has no label in row 2 of column 'label', but each text needs one; fill or drop the row."
    )


@pytest.mark.parametrize(("found", "shown"), [(None, "nothing"), (float("nan"), "nothing"), (5, "5")])
def test_a_text_that_is_none_names_the_row(found: object, shown: str) -> None:
    assert sentence({"text": ["a", found], "label": [0, 1]}) == (
        f"a.csv has {shown} in row 2 of column 'text', where text was expected; correct the row."
    )


def test_a_score_is_not_a_class() -> None:
    assert "has 0.37 in row 1 of column 'label', where a class name or whole number" in sentence(
        {"text": ["a"], "label": [0.37]}
    )


def test_no_rows() -> None:
    assert sentence({"text": [], "label": []}).startswith("a.csv has no rows")


def test_tagging_rows_are_refused_as_such() -> None:
    assert sentence({"tokens": [["a"]], "tags": [["O"]]}) == (
        "a.csv holds 'tokens' for tagging, but classification needs 'text' and 'label' columns; "
        "choose a classification set, or set task: tagging."
    )


def test_distinct_labels_sort_as_numbers_when_they_are() -> None:
    assert distinct_labels(["10", "9", "10", "-1"]) == ["-1", "9", "10"]
    assert distinct_labels(["10", "9", "b"]) == ["10", "9", "b"]


def test_names_and_numbers_both_find_the_class() -> None:
    assert encode_labels(build_raw(["positive", "0", "1"]), ["negative", "positive"]).labels == [1, 0, 1]


def test_classes_named_by_numbers_are_names_not_positions() -> None:
    assert encode_labels(build_raw(["1", "2"]), ["1", "2"]).labels == [0, 1]
    with pytest.raises(DataError, match="has the label '0' in row 1"):
        encode_labels(build_raw(["0"]), ["1", "2"])


def test_an_unknown_label_names_row_classes_and_nearest() -> None:
    with pytest.raises(DataError) as raised:
        encode_labels(build_raw(["positive", "postive"]), ["negative", "positive"])
    assert str(raised.value) == (
        "a.csv has the label 'postive' in row 2, but the known classes are: negative, positive; "
        "correct the row, or name all classes in data.labels. Did you mean 'positive'?"
    )


def test_many_classes_are_not_all_listed() -> None:
    with pytest.raises(DataError) as raised:
        encode_labels(build_raw(["x"]), [f"class {number}" for number in range(77)])
    assert "class 19, ...;" in str(raised.value)
