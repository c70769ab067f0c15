from __future__ import annotations

import pytest

from splade.data.columns import distinct_labels, encode_labels, raw_split
from splade.data.types import Columns, RawSplit, Table
from splade.errors import DataError


def sentence(columns: Columns, text: str | None = None, label: str | None = None) -> str:
    with pytest.raises(DataError) as raised:
        raw_split(Table(columns, "a.csv"), text, label)
    return str(raised.value)


def build_raw(labels: list[str]) -> RawSplit:
    return RawSplit(["text"] * len(labels), labels, {}, "a.csv")


def test_other_columns_are_kept() -> None:
    split = raw_split(Table({"text": ["a", ""], "label": [0, 1], "groups": [["x"], []]}, "a.csv"))
    assert split.texts == ["a", ""]  # an empty text is a text
    assert split.extra == {"groups": [["x"], []]}


def test_columns_can_be_named() -> None:
    split = raw_split(Table({"review": ["a"], "stars": ["5"]}, "a.csv"), "review", "stars")
    assert (split.texts, split.labels) == (["a"], ["5"])


@pytest.mark.parametrize(
    ("written", "label"),
    [(1, "1"), (1.0, "1"), ("1", "1"), ("1.0", "1"), ("1.5", "1.5"), (" good ", "good"), (True, "true"), (-1, "-1")],
)
def test_one_class_however_it_is_written(written: object, label: str) -> None:
    assert raw_split(Table({"text": ["a"], "label": [written]}, "a.csv")).labels == [label]


def test_half_a_surrogate_pair_is_made_harmless() -> None:
    assert raw_split(Table({"text": ["a\ud800b é"], "label": [1]}, "a.csv")).texts == ["a?b é"]


def test_a_named_column_that_is_missing_lists_those_found_and_the_nearest() -> None:
    assert sentence({"review": ["a", "b"], "intent": [0, 1]}, "reveiw", "intent") == (
        "a.csv has no column 'reveiw', only: review, intent; name the right one with data.text_column. "
        "Did you mean 'review'?"
    )


def test_no_column_is_suggested_that_plays_another_part() -> None:
    texts = [f"this is text {row}" for row in range(8)]
    classes: list[object] = ["x", "y"] * 4
    assert "Did you mean" not in sentence({"request": list(texts), "intent": classes}, "content", "intent")
    assert "Did you mean" not in sentence({"request": list(texts), "label": classes}, "labels", None)
    assert "Did you mean" not in sentence({"request": list(texts), "stars": [0, 1] * 4}, "star", None)  # no texts


def test_texts_and_labels_are_two_columns() -> None:
    columns: Columns = {"text": ["a", "b"], "label": [0, 1]}
    both = "a.csv: the column 'text' would give both the texts and the labels, since"
    assert sentence(columns, "text", "text").startswith(f"{both} data.text_column names it; name another with")
    assert sentence(columns, None, "text").startswith(f"{both} data.label_column names it; name another with")
    assert "the column 'label' would give both" in sentence(columns, "label", None)


def test_other_splits_must_have_the_columns_of_training() -> None:
    like = {"text_column": "review", "label_column": "label"}
    with pytest.raises(DataError) as raised:
        raw_split(Table({"text": ["a"], "label": [0]}, "test.csv"), like=like)
    assert str(raised.value) == (
        "test.csv has no column 'review', which the training data has, only: text, label; call it so in both, or name "
        "the right one with data.text_column."
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
    assert encode_labels(build_raw(["positive", "0", "1"]), ["negative", "positive"], numbered=True).labels == [1, 0, 1]


def test_classes_named_by_numbers_are_names_not_positions() -> None:
    for numbered in (True, False):
        assert encode_labels(build_raw(["1", "2"]), ["1", "2"], numbered).labels == [0, 1]
        with pytest.raises(DataError, match="has the label '0' in row 1"):
            encode_labels(build_raw(["0"]), ["1", "2"], numbered)


def test_numbers_mean_nothing_where_classes_have_only_names() -> None:
    assert encode_labels(build_raw(["good", "bad"]), ["bad", "good"], numbered=False).labels == [1, 0]
    with pytest.raises(DataError) as raised:
        encode_labels(build_raw(["good", "1"]), ["bad", "good"], numbered=False)
    assert str(raised.value) == (
        "a.csv has the number 1 for a label in row 2, but the classes are known by name alone (bad, good), so that it "
        "may stand for any; write the names, or set data.labels to them in the order of their numbers."
    )


def test_an_unknown_label_names_row_classes_and_nearest() -> None:
    with pytest.raises(DataError) as raised:
        encode_labels(build_raw(["positive", "postive"]), ["negative", "positive"], numbered=False)
    assert str(raised.value) == (
        "a.csv has the label 'postive' in row 2, but the known classes are: negative, positive; "
        "correct the row, or name all classes in data.labels. Did you mean 'positive'?"
    )


def test_many_classes_are_not_all_listed() -> None:
    with pytest.raises(DataError) as raised:
        encode_labels(build_raw(["x"]), [f"class {number}" for number in range(77)], numbered=False)
    assert "class 19, ...;" in str(raised.value)


@pytest.mark.parametrize("label", ["a\ud800", "a\nb", "a\0"])
def test_a_label_that_cannot_be_printed_is_refused(label: str) -> None:
    said = sentence({"text": ["x"], "label": [label]})
    assert f"has the label {label!r} in row 1 of column 'label', with a line break or another character" in said
    said.encode()


@pytest.mark.parametrize(
    "labels",
    [
        [str(row / 100) for row in range(60)],  # scores
        [f"{row % 30}.5" for row in range(600)],
        [row % 60 for row in range(240)],  # ages
    ],
)
def test_what_was_measured_is_no_class(labels: list[object]) -> None:
    said = sentence({"text": ["x"] * len(labels), "label": labels})
    assert f"different numbers in the {len(labels)} rows of column 'label', which look measured" in said


@pytest.mark.parametrize(
    "labels",
    [
        [f"{row % 10 / 2}" for row in range(100)],  # half stars
        [row % 77 for row in range(770)],  # the numbers of many classes
        [f"class {row}" for row in range(60)],
    ],
)
def test_many_classes_are_classes(labels: list[object]) -> None:
    assert len(set(raw_split(Table({"text": ["x"] * len(labels), "label": labels}, "a.csv")).labels)) > 9


def test_blank_texts_are_counted() -> None:
    raw = raw_split(Table({"text": ["a", "", " \n"], "label": ["x", "y", "x"]}, "a.csv"))
    split = encode_labels(raw, ["x", "y"], numbered=False)
    assert split.texts == ["a", "", " \n"]
    assert split.notes == ("a.csv: 2 of 3 texts are empty or blank; they were kept.",)
    assert split.take([0]).notes == split.notes


def test_a_long_value_is_shown_short() -> None:
    said = sentence({"text": [b"\x00" * 10_000], "label": [0]})
    assert len(said) < 250


def test_halves_of_characters_are_replaced_and_counted() -> None:
    columns: Columns = {"text": ["good \ud83d", "fine"], "label": ["a", "b"]}
    split = raw_split(Table(columns, "mine.jsonl"), None, None)
    assert split.texts == ["good ?", "fine"]
    assert split.notes == ("mine.jsonl: 1 text(s) have halves of characters; a question mark stands for each.",)


def test_tags_of_words_are_no_classes() -> None:
    columns: Columns = {"text": ["Rome", "won", "it"], "label": ["B-LOC", "O", "O"]}
    with pytest.raises(DataError, match=r"tags of words in column 'label' \(B-LOC, O\)"):
        raw_split(Table(columns, "ner.csv"))
