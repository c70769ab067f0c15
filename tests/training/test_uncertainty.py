"""Uncertainty weighting: the weight a loss ends with, and that it cannot run away."""

from __future__ import annotations

import math

import pytest
import torch

from splade.training.uncertainty import LARGEST_LOG_VARIANCE, UncertaintyWeights


def settle(loss: float, steps: int) -> tuple[UncertaintyWeights, float]:
    """Learn the variance of a constant loss; also its weight."""
    weights = UncertaintyWeights(["a"])
    optimizer = torch.optim.Adam(weights.parameters(), lr=0.1)
    value = torch.tensor([loss], requires_grad=True)
    for _ in range(steps):
        optimizer.zero_grad()
        weights("a", value).sum().backward()
        optimizer.step()
    (weight,) = torch.autograd.grad(weights("a", value).sum(), value)
    return weights, weight.item()


def test_begins_as_the_plain_sum() -> None:
    weights = UncertaintyWeights(["a", "b"])
    torch.testing.assert_close(weights("b", torch.tensor([0.5, 2.0])), torch.tensor([0.5, 2.0]))


@pytest.mark.parametrize("loss", [0.1, 1.0, 2.0])
def test_a_loss_is_weighed_by_the_inverse_of_twice_its_size(loss: float) -> None:
    assert settle(loss, 400)[1] == pytest.approx(1 / (2 * loss), rel=0.02)


def test_a_loss_near_zero_does_not_weigh_ever_more() -> None:
    assert settle(1e-9, 400)[1] <= math.exp(LARGEST_LOG_VARIANCE)


def test_a_loss_that_rests_leaves_its_weight_alone() -> None:
    weights, _ = settle(0.0, 50)
    assert weights.raw["a"].item() == 0
