from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splade.config.schema import DataConfig
from splade.data.splits import Roles, assign_roles, carve, limit, stratified_sample
from splade.data.types import TextSplit
from splade.errors import DataError

label_lists = st.lists(st.integers(0, 6), min_size=2, max_size=200)


@given(label_lists, st.data())
def test_a_sample_is_distinct_rows_in_proportion(labels: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(labels)))
    rows = stratified_sample(labels, size, seed=3)
    assert len(rows) == size and len(set(rows.tolist())) == size
    assert rows.tolist() == sorted(rows.tolist())
    counts, taken = Counter(labels), Counter(labels[row] for row in rows)
    if size >= len(counts):
        assert set(taken) == set(counts)
    # In proportion: one key t cuts all classes, so that (taken - 1)/n <= t <= taken/n holds for every class of n rows.
    shares = [((taken[each] - 1) / counts[each], taken[each] / counts[each]) for each in counts]
    assert max(low for low, _ in shares) <= min(high for _, high in shares) + 1e-9


@given(label_lists, st.floats(0.01, 0.99))
def test_carving_parts_the_rows_and_keeps_every_class(labels: list[int], fraction: float) -> None:
    rows = np.arange(len(labels))
    split = TextSplit([f"text {row}" for row in rows], labels, {})
    expected = max(1, round(fraction * len(labels)))
    if len(labels) - expected < len(set(labels)):
        with pytest.raises(DataError, match="too few to hold some out and keep every class"):
            carve(rows, split, fraction, 0)
        return
    kept, held_out = carve(rows, split, fraction, 0)
    assert sorted([*kept.tolist(), *held_out.tolist()]) == rows.tolist()
    assert len(held_out) == expected
    assert {labels[row] for row in kept} == set(labels)


def test_copies_of_a_text_are_held_out_together() -> None:
    texts = [f"text {row // 3}" for row in range(300)]
    split = TextSplit(texts, [row % 2 for row in range(300)], {})
    kept, held_out = carve(np.arange(300), split, 0.1, 0)
    assert len(kept) + len(held_out) == 300 and len(held_out) >= 30
    assert {texts[row] for row in kept}.isdisjoint({texts[row] for row in held_out})
    same = TextSplit(["always the same"] * 40, [row % 2 for row in range(40)], {})
    assert len(carve(np.arange(40), same, 0.1, 0)[1]) == 4  # nothing would be left to train on


def test_samples_depend_on_the_seed_alone() -> None:
    labels = [row % 2 for row in range(1000)]
    first = stratified_sample(labels, 100, 1).tolist()
    assert first == stratified_sample(labels, 100, 1).tolist() != stratified_sample(labels, 100, 2).tolist()


def test_a_sample_is_not_the_head_of_the_file() -> None:
    rows = stratified_sample([0] * 1000, 100, 0)
    assert 400 < rows.mean() < 600


def test_limit_takes_all_when_there_are_no_more() -> None:
    split = TextSplit([f"t{row}" for row in range(10)], [row % 2 for row in range(10)], {"id": list(range(10))})
    assert limit(split, -1, 0) is split and limit(split, 11, 0) is split
    few = limit(split, 4, 0)
    assert Counter(few.labels) == {0: 2, 1: 2}
    assert few.texts == [f"t{row}" for row in few.extra["id"]]  # columns stay aligned


def roles(available: list[str], special: dict[str, str] | None = None, **settings: str) -> Roles:
    return assign_roles(DataConfig(**settings), available, special or {}, "The set x")  # type: ignore[arg-type]


def test_splits_play_the_part_of_their_name() -> None:
    assert roles(["train", "validation", "test"]) == Roles("train", "validation", "test")
    assert roles(["train", "test"]) == Roles("train", None, "test")
    assert roles(["train"]) == Roles("train", None, None)


def test_without_a_test_split_validation_tests() -> None:
    assert roles(["train", "validation"]) == Roles("train", None, "validation")


def test_sst2_tests_on_validation_unless_told_otherwise() -> None:
    special = {"test": "validation"}
    assert roles(["train", "validation", "test"], special) == Roles("train", None, "validation")
    assert roles(["train", "validation", "test"], special, test_split="test") == Roles("train", "validation", "test")
    assert roles(["train", "test"], special) == Roles("train", None, "test")


def test_splits_can_be_named() -> None:
    named = roles(["a", "b", "c"], train_split="a", validation_split="b", test_split="c")
    assert named == Roles("a", "b", "c")


def test_an_unknown_split_lists_those_there() -> None:
    with pytest.raises(DataError) as raised:
        roles(["train", "dev"], validation_split="val")
    assert str(raised.value) == (
        "The set x has no split 'val', only: train, dev; name the right one with data.validation_split."
    )
    with pytest.raises(DataError, match="has no split 'train', only: test"):
        roles(["test"])


@pytest.mark.parametrize(
    "settings", [{"test_split": "train"}, {"validation_split": "train"}, {"validation_split": "test"}]
)
def test_no_split_plays_two_parts(settings: dict[str, str]) -> None:
    with pytest.raises(DataError, match="would use one split for two parts"):
        roles(["train", "test"], **settings)
