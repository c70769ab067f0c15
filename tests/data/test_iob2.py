"""Decoding: never an impossible sequence of tags, and of the possible ones the best."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from splade.data import iob2
from splade.data.iob2 import IOB2
from splade.errors import DataError

LABELS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def possible(tags: tuple[int, ...] | list[int]) -> bool:
    """The rule in words: I-X stands only after B-X or I-X."""
    before = "O"
    for tag in (LABELS[tag] for tag in tags):
        if tag.startswith("I-") and before not in (tag, f"B-{tag[2:]}"):
            return False
        before = tag
    return True


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    seed=st.integers(0, 10_000),
    together=st.sampled_from([1, 2, 1024]),
)
def test_is_the_best_of_all_possible_sequences(lengths: list[int], seed: int, together: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(sum(lengths), len(LABELS))) * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iob2, "TOGETHER", together)
        found = IOB2(LABELS).decode(scores, np.array(lengths))
    start = 0
    for length in lengths:
        part = scores[start : start + length]
        best = max(
            (path for path in itertools.product(range(len(LABELS)), repeat=length) if possible(path)),
            key=lambda path: sum(part[i, tag] for i, tag in enumerate(path)),
        )
        assert tuple(found[start : start + length]) == best
        start += length


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.float32, (7, len(LABELS)), elements=st.floats(-5, 5, width=32)))
def test_is_possible_and_where_the_argmax_is_possible_just_that(scores: np.ndarray) -> None:
    found = IOB2(LABELS).decode(scores, np.array([4, 3]))
    assert possible(found[:4].tolist()) and possible(found[4:].tolist())
    greedy = scores.argmax(1)
    if possible(greedy[:4].tolist()) and possible(greedy[4:].tolist()):
        assert scores[range(7), found].sum() == pytest.approx(scores[range(7), greedy].sum(), abs=1e-5)


def test_tags_are_named_by_sentence() -> None:
    assert IOB2(LABELS).names(np.array([1, 2, 0, 3]), np.array([2, 0, 2])) == [["B-LOC", "I-LOC"], [], ["O", "B-PER"]]


def test_tags_without_an_outside_are_refused() -> None:
    with pytest.raises(DataError, match="no O"):
        IOB2(["B-LOC", "I-LOC"])
