"""Does an explanation only repeat the tag: the strongest token of each class, by hand."""

from __future__ import annotations

import torch

from splade.evaluation.strongest import StrongestMeter, StrongestToken
from tests.builders import sparse_rows
from tests.evaluation.builders import VOCABULARY, attribution, token


def test_the_strongest_token_of_each_class_by_hand() -> None:
    meter = StrongestMeter(["a", "b", "never"], VOCABULARY)
    rows = attribution({"good": 2.0, "bad": -9.0}, {"good": 1.0}, {"film": 3.0, "good": 2.0}, {"bad": 1.0}, {})
    meter.add(rows, torch.tensor([0, 0, 0, 1, 1]))  # the last has no token at all
    meter.add(attribution({"good": 5.0}), torch.tensor([0]))
    assert meter.result() == {"a": StrongestToken("good", 0.75, 2, 4), "b": StrongestToken("bad", 1.0, 1, 1)}


def test_a_token_is_one_wherever_it_stands() -> None:
    """`good` speaks once for the word itself, once for the word after it."""
    vocabulary = VOCABULARY.at_offsets((0, -1, 1))
    meter = StrongestMeter(["a"], vocabulary)
    before = len(VOCABULARY) + token("good")
    rows = sparse_rows({token("good"): 2.0, token("film"): 1.0}, {before: 3.0}, vocab_size=len(vocabulary))
    meter.add(rows, torch.tensor([0, 0]))
    assert meter.result() == {"a": StrongestToken("good", 1.0, 1, 2)}
    assert vocabulary.name_in_place(before) == "← good"
