from __future__ import annotations

from splade.data.training_notes import class_notes, type_notes
from splade.data.types import TaggedSplit, TextSplit


def notes(*counts: int) -> list[str]:
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    return class_notes(TextSplit([str(row) for row in range(len(labels))], labels), [*"abcdefgh"])


def test_classes_with_few_texts_are_named_with_their_counts() -> None:
    assert notes(480, 20) == [
        "Some classes have few of the 500 training texts: 'b' 20 (most, 480, has 'a'); they are easily missed, so look "
        "at macro-F1 beside the accuracy."
    ]
    assert "'c' 3, 'b' 9 (most, 12, has 'a')" in notes(12, 9, 3)[0]
    assert "'h' 1, 'g' 2, 'f' 3, 'e' 4, 'd' 5 and 2 more (most" in notes(80, 7, 6, 5, 4, 3, 2, 1)[0]


def test_even_classes_need_no_word() -> None:
    assert notes(10, 10) == notes(100, 10) == []


def test_texts_with_several_labels_are_counted() -> None:
    split = TextSplit(["x", "x", "x", "y", "y"] * 10, [0, 1, 0, 1, 1] * 10)
    assert class_notes(split, ["a", "b"]) == ["1 different training texts occur with more than one label."]


def test_tags_are_looked_at_elsewhere() -> None:
    assert type_notes(TaggedSplit([["a"]], [[0]]), ["O", "B-X", "I-X"]) == []


def test_labels_that_somebody_may_have_meant_for_one() -> None:
    split = TextSplit(["a"] * 40, [0, 1, 2, 3] * 10)
    said = class_notes(split, ["Bad", "bad", "Good", "fine"])
    assert said[0].startswith(
        "Labels that differ only in case or spaces are taken for different ones: 'Bad' and 'bad';"
    )
    assert not any("differ only in case" in note for note in class_notes(split, ["a", "b", "c", "d"]))


def test_several_labels_in_a_cell() -> None:
    split = TextSplit(["a"] * 40, [0, 1, 2, 3] * 10)
    said = class_notes(split, ["food", "price", "food;price", "price;food"])
    assert any("look like several in one cell" in note for note in said)
    assert not any("in one cell" in n for n in class_notes(split, ["Sci/Tech", "World", "Sports", "Business"]))
