from __future__ import annotations

import pytest

from splade.data.column_choice import LABELS, TAGS, TEXTS, WORDS, choose_columns, choose_texts
from splade.data.types import Columns, Table
from splade.errors import DataError

ROWS = 60
PROSE: list[object] = [f"this is what {row} people wrote about it" for row in range(ROWS)]
CLASSES: list[object] = [("good", "bad", "fair")[row % 3] for row in range(ROWS)]
IDS: list[object] = [str(1000 + row) for row in range(ROWS)]
DATES: list[object] = [f"2024-0{1 + row % 3}-1{row % 2}" for row in range(ROWS)]
SCORES: list[object] = [str(row / 7) for row in range(ROWS)]
NOTHING: list[object] = [""] * ROWS


def chosen(columns: Columns, text: str | None = None, label: str | None = None) -> tuple[str, str]:
    found = choose_columns(Table(columns, "mine.csv"), {TEXTS: text, LABELS: label}).columns
    return found["text_column"], found["label_column"]


def sentence(columns: Columns, text: str | None = None, label: str | None = None) -> str:
    with pytest.raises(DataError) as raised:
        chosen(columns, text, label)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_usual_names_need_no_word() -> None:
    choice = choose_columns(Table({"text": PROSE, "label": CLASSES, "review": PROSE}, "a"), {TEXTS: None, LABELS: None})
    assert choice.columns == {"text_column": "text", "label_column": "label"} and choice.notes == ()


def test_each_decision_is_a_sentence() -> None:
    choice = choose_columns(Table({"Review": PROSE, "Sentiment": CLASSES}, "a"), {TEXTS: None, LABELS: None})
    assert choice.notes == (
        "The texts are the column 'Review' (data.text_column can name another).",
        "The labels are the column 'Sentiment' (data.label_column can name another).",
    )


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"review": PROSE, "sentiment": CLASSES}, ("review", "sentiment")),
        ({"TEXT": PROSE, "Category": CLASSES, "review": PROSE}, ("TEXT", "Category")),
        ({"Unnamed: 0": IDS, "tweet": PROSE, "class": CLASSES}, ("tweet", "class")),
        ({"unnamed column 1": CLASSES, "utterance": PROSE, "intent": CLASSES}, ("utterance", "intent")),
        ({"id": IDS, "reviewText": PROSE, "overall_rating": IDS, "target": CLASSES}, ("reviewText", "target")),
        ({"title": PROSE, "body": PROSE, "topic": CLASSES}, ("body", "topic")),  # the surer name
        ({"v1": CLASSES, "v2": PROSE, "unnamed column 3": NOTHING}, ("v2", "v1")),  # by looks alone
        ({"when": DATES, "what": PROSE, "which": CLASSES, "how much": SCORES, "no": IDS}, ("what", "which")),
        ({"who": IDS, "said": PROSE, "so": [row % 2 for row in range(ROWS)]}, ("said", "so")),
        ({"said": PROSE, "verdict": CLASSES, "split": CLASSES, "user_id": CLASSES}, ("said", "verdict")),
        ({"文章": [f"これは{row}番目の文章です" for row in range(ROWS)], "種類": CLASSES}, ("文章", "種類")),
        ({"sentence": PROSE, "stars": [1 + row % 5 for row in range(ROWS)]}, ("sentence", "stars")),
    ],
)
def test_columns_are_found(columns: Columns, expected: tuple[str, str]) -> None:
    assert chosen(columns) == expected
    assert chosen(dict(reversed(columns.items()))) == expected


def test_what_a_setting_names_goes_first_and_plays_one_part() -> None:
    columns: Columns = {"review": PROSE, "comment": PROSE, "sentiment": CLASSES, "class": CLASSES}
    assert chosen(columns, text="comment", label="class") == ("comment", "class")
    assert chosen({"class": PROSE, "kind": CLASSES}, text="class") == ("class", "kind")


def test_what_is_not_clear_lists_the_columns_with_their_looks() -> None:
    said = sentence(
        {"review": PROSE, "comment": PROSE, "sentiment": CLASSES, "when": DATES, "n": IDS, "empty": NOTHING}
    )
    assert said == (
        "mine.csv has no column 'text', and which other has the texts is not clear: review (texts of 8 words), comment "
        "(texts of 8 words), sentiment (3 different classes), when (dates), n (60 different numbers), empty (nothing); "
        "name it with data.text_column."
    )
    assert (
        "which other has the labels is not clear: a (3 different classes), b (3 different classes); name it with "
        in (sentence({"text": PROSE, "a": CLASSES, "b": CLASSES}))
    )


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("x", other) for other in (IDS, DATES, SCORES, NOTHING, PROSE)),
        *(("rating", other) for other in (DATES, NOTHING, PROSE)),  # numbers it may have
    ],
)
def test_what_cannot_be_labels_is_not_taken(name: str, other: list[object]) -> None:
    assert "which other has the labels is not clear" in sentence({"text": PROSE, name: other})


@pytest.mark.parametrize("name", ["id", "date", "Unnamed: 0", "unnamed column 1", "split", "user_id", "createdAt_date"])
def test_what_numbers_or_dates_the_texts_is_no_label(name: str) -> None:
    assert "which other has the labels is not clear" in sentence({"text": PROSE, name: CLASSES})


@pytest.mark.parametrize(
    "other", [IDS, DATES, CLASSES, NOTHING, [["a"]] * ROWS, [{"a": 1}] * ROWS, [b"a b c d"] * ROWS]
)
def test_what_does_not_look_like_texts_is_not_taken(other: list[object]) -> None:
    assert "which other has the texts is not clear" in sentence({"x": other, "label": CLASSES})


def test_numbers_with_a_few_words_among_them_are_not_classes() -> None:
    most: list[object] = [*(["1", "2"] * 28), "good", "bad", "1", "2"]
    assert "x (4 different numbers)" in sentence({"text": PROSE, "x": most})


def test_a_file_without_a_header() -> None:
    columns: Columns = {"I liked it very much": PROSE, "good": CLASSES}
    assert sentence(columns) == (
        "mine.csv begins with a row that looks like the others ('I liked it very much' for the texts), where the names "
        "of the columns were expected; put a line with these first, such as text,label."
    )
    assert "('good' for the labels)" in sentence({"text": PROSE, "good": CLASSES})


def test_words_and_tags() -> None:
    words: list[object] = [["Ann", "met", "Bo"], ["in", "Rome"]]
    tags: list[object] = [["B-PER", "O", "B-PER"], ["O", "B-LOC"]]
    parts = {WORDS: None, TAGS: None}
    for columns in (
        {"words": words, "ner": tags},
        {"w": words, "t": tags, "id": IDS[:2]},
        {"sentence": words, "labels": tags},
    ):
        found = choose_columns(Table(columns, "a"), parts).columns
        assert list(found.values()) == [next(iter(columns)), list(columns)[1]]
    with pytest.raises(DataError, match="which other has the tags is not clear: a "):
        choose_columns(Table({"tokens": words, "a": tags, "b": tags}, "a"), parts)


def test_the_texts_of_a_file_to_predict() -> None:
    table = Table({"id": IDS, "review": PROSE}, "a")
    said = "The texts are the column 'review' (--column can name another)."
    assert choose_texts(table) == ("review", (said,))
    with pytest.raises(DataError, match="which other has the texts is not clear"):
        choose_texts(Table({"a": PROSE, "b": PROSE}, "a"))
