"""Which weights are kept: those that satisfy the constraint, then the better ones, until patience runs out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from splade.circuits.geco import GECOController
from splade.config.schema import TrainingConfig
from splade.training.recipes import RECIPES
from splade.training.selection import Candidate, Selection, shortcomings
from splade.training.validation import Validation


def test_the_best_weights_are_copied_and_patience_counts_what_is_no_better() -> None:
    model, selection = nn.Linear(2, 1), Selection(patience=2)
    for step, score in enumerate((0.5, 0.7, 0.6, 0.7), start=1):
        nn.init.constant_(model.weight, step)
        assert not selection.out_of_patience
        said = selection.consider(model, step, Validation("accuracy", score, 0.3, 5.0))  # type: ignore[arg-type]
        assert said == ("kept" if step < 3 else "not kept, step 2 is better")
    assert (selection.best.step, selection.best.score, selection.best.active) == (2, 0.7, 5.0)
    assert torch.equal(selection.best.weights["weight"], torch.full((1, 2), 2.0))
    assert selection.out_of_patience and not Selection(None).out_of_patience


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Candidate(1, True, 0.6, 0.9), Candidate(2, False, 0.9, 0.1)),
        (Candidate(1, True, 0.9, 0.9), Candidate(2, True, 0.8, 0.1)),
        (Candidate(1, True, 0.9, 0.2), Candidate(2, True, 0.9, 0.3)),
        (Candidate(1, False, 0.0, math.inf), Candidate()),
    ],
)
def test_checkpoints_rank_by_constraint_then_accuracy_then_cross_entropy(better: Candidate, worse: Candidate) -> None:
    assert better.rank > worse.rank


@pytest.mark.parametrize(
    ("gap", "active", "expected"),
    [(0.0, 30.0, True), (0.49, 34.4, True), (0.51, 30.0, False), (0.0, 34.6, False), (None, 30.0, False)],
)
def test_the_constraint_asks_for_cross_entropy_and_sparsity(gap: float | None, active: float, expected: bool) -> None:
    geco = GECOController(10, tau=0.3, gap=gap)
    assert (not shortcomings(active, RECIPES.get("cajt"), geco, TrainingConfig(active_target=30))) is expected


def test_what_is_lacking_is_said_with_both_numbers() -> None:
    geco, config = GECOController(10, tau=0.3, gap=0.61), TrainingConfig(active_target=20)
    lacking = shortcomings(86.84, RECIPES.get("cajt"), geco, config)
    assert lacking == [
        "a cross-entropy 61% above its limit, where 50% is allowed",
        "86.8 active tokens, where 23.0 are allowed",
    ]
    said = Selection(None).consider(nn.Linear(2, 1), 7, Validation("f1", 0.5, 0.3, 86.84), lacking)  # type: ignore[arg-type]
    assert said == f"kept; the weights have {lacking[0]} and {lacking[1]}"


def test_a_bound_that_was_asked_for_is_held_closer() -> None:
    geco, config = GECOController(10, tau=0.3, gap=0.2), TrainingConfig(active_target=30)
    asked = replace(config, target_accuracy=0.9)
    assert not shortcomings(30.0, RECIPES.get("cajt"), geco, config) and shortcomings(
        30.0, RECIPES.get("cajt"), geco, asked
    )


def test_sparsity_is_not_asked_of_a_training_without_its_loss() -> None:
    geco, config = GECOController(10, tau=0.3, gap=0.0), TrainingConfig(active_target=30)
    off = replace(config, loss_weights=replace(config.loss_weights, sparsity=0.0))
    assert not shortcomings(500.0, RECIPES.get("cajt"), geco, off) and shortcomings(
        500.0, RECIPES.get("cajt"), geco, config
    )
