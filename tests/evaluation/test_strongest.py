"""Does an explanation only repeat the tag: the strongest token of each class, by hand."""

from __future__ import annotations

import torch

from splade.evaluation.strongest import StrongestMeter, StrongestToken
from tests.evaluation.builders import VOCABULARY, attribution


def test_the_strongest_token_of_each_class_by_hand() -> None:
    meter = StrongestMeter(["a", "b", "never"], VOCABULARY)
    rows = attribution({"good": 2.0, "bad": -9.0}, {"good": 1.0}, {"film": 3.0, "good": 2.0}, {"bad": 1.0}, {})
    meter.add(rows, torch.tensor([0, 0, 0, 1, 1]))  # the last has no token at all
    meter.add(attribution({"good": 5.0}), torch.tensor([0]))
    assert meter.result() == {"a": StrongestToken("good", 0.75, 2, 4), "b": StrongestToken("bad", 1.0, 1, 1)}
