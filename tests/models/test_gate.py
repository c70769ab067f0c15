"""The gates: their values, their gradients, their start, and that their thresholds really move."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from splade.config.schema import TrainingConfig
from splade.errors import ConfigError
from splade.models.layers.activation import GATES, SURROGATE_WINDOW, JumpReLUGate, ThresholdGate
from splade.training.optim import parameter_groups, schedule_free_adamw


def calibrated(theta: float = 2.0, scale: float = 4.0, vocab_size: int = 3) -> JumpReLUGate:
    gate = JumpReLUGate(vocab_size)
    gate.calibrate(theta, scale)
    return gate


def of_kind(kind: str, theta: float = 2.0, scale: float = 4.0, vocab_size: int = 3) -> ThresholdGate:
    gate = GATES.get(kind)(vocab_size)
    gate.calibrate(theta, scale)
    return gate


def gradients(gate: ThresholdGate, z: float) -> tuple[float, float]:
    """∂s/∂z and ∂s/∂raw of token 1 at one score."""
    score = torch.tensor([z], requires_grad=True)
    gate.raw.grad = None
    gate(score, torch.tensor([1])).sum().backward()
    assert gate.raw.grad is not None and score.grad is not None
    assert gate.raw.grad[0] == gate.raw.grad[2] == 0  # other tokens have no part in it
    return float(score.grad), float(gate.raw.grad[1])


def test_the_gate_is_found_by_its_name() -> None:
    assert GATES.get("jumprelu") is JumpReLUGate
    with pytest.raises(ConfigError, match="Did you mean 'jumprelu'"):
        GATES.get("jumpreul")


@settings(deadline=None)
@given(st.floats(0.05, 50), st.floats(0.5, 20))
def test_calibrate_sets_every_threshold_and_the_bandwidth(theta: float, scale: float) -> None:
    gate = calibrated(theta, scale)
    torch.testing.assert_close(gate.theta, torch.full((3,), theta), rtol=1e-3, atol=1e-5)
    assert gate.bandwidth == pytest.approx(gate.RELATIVE_BANDWIDTH * scale)
    torch.testing.assert_close(gate.floor(), gate.theta.detach() - SURROGATE_WINDOW * gate.bandwidth)


@pytest.mark.parametrize("kind", ["jumprelu", "drelu", "drelu_log1p"])
def test_columns_may_share_a_threshold_which_learns_from_all_of_them(kind: str) -> None:
    gate = of_kind(kind, vocab_size=6)
    gate.share_threshold(slice(2, 5), 4)
    with torch.no_grad():
        gate.raw.copy_(torch.arange(6.0))
    own = gate.scale * torch.nn.functional.softplus(gate.raw)
    assert torch.equal(gate.theta, own[[0, 1, 4, 4, 4, 5]])
    torch.testing.assert_close(gate.floor(), gate.theta.detach() - SURROGATE_WINDOW * gate.bandwidth)
    token = torch.tensor([2, 3])
    z = gate.theta.detach()[4].repeat(2) + 0.01
    assert gate.opens(z, token).all() and not gate.opens(z - 0.02, token).any()
    torch.testing.assert_close(gate.open_probability(z, token), gate.open_probability(z, torch.tensor([4, 4])))
    for said in (gate(z, token), gate.open_probability(z, token)):
        (gradient,) = torch.autograd.grad(said.sum(), gate.raw, retain_graph=True)
        assert gradient.nonzero().flatten().tolist() == [4]  # of both
        (alone,) = torch.autograd.grad(said[0], gate.raw)
        torch.testing.assert_close(2 * alone, gradient)
    assert "same_as" not in gate.state_dict()


@pytest.mark.parametrize("theta", [0.0, -3.0])
def test_a_start_at_or_below_zero_becomes_a_small_positive_threshold(theta: float) -> None:
    assert (calibrated(theta).theta > 0).all()


@settings(deadline=None)
@given(st.lists(st.floats(-80, 80), min_size=1))
def test_thresholds_are_positive_float32_whatever_was_learned(raw: list[float]) -> None:
    gate = JumpReLUGate(len(raw))
    with torch.no_grad():
        gate.raw.copy_(torch.tensor(raw))
    assert gate.theta.dtype == torch.float32
    assert (gate.theta > 0).all()


@pytest.mark.parametrize("training", [True, False])
def test_values_jump_from_zero_to_the_whole_score(training: bool) -> None:
    gate = calibrated(2.0).train(training)
    z = torch.tensor([-3.0, 0.0, 1.99, 2.01, 7.0])
    token = torch.zeros(5, dtype=torch.long)
    torch.testing.assert_close(gate(z, token), torch.tensor([0.0, 0.0, 0.0, 2.01, 7.0]))
    assert torch.equal(gate.opens(z, token), gate(z, token) > 0)


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10, width=32), min_size=2), st.floats(0.01, 8))
def test_gating_the_maximum_is_the_maximum_of_the_gated(z: list[float], theta: float) -> None:
    scores, token = torch.tensor(z), torch.zeros(len(z), dtype=torch.long)
    for kind in GATES.names():
        gate = of_kind(kind, theta)
        assert gate(scores.max()[None], token[:1]).item() == gate(scores, token).max().item()
        assert torch.equal(gate.opens(scores, token), gate(scores, token) > 0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["drelu", "drelu_log1p"])
def test_drelu_is_what_a_score_exceeds_its_threshold_by(kind: str, training: bool) -> None:
    gate = of_kind(kind).train(training)
    token = torch.zeros(5, dtype=torch.long)
    over = torch.tensor([0.0, 0.0, 0.0, 0.01, 5.0])
    found = gate(torch.tensor([-3.0, 0.0, 1.99, 2.01, 7.0]), token)
    torch.testing.assert_close(found, over.log1p() if kind == "drelu_log1p" else over, rtol=0, atol=1e-5)
    assert (found[:3] == 0).all()  # exactly


def test_drelu_has_an_ordinary_gradient_in_score_and_threshold() -> None:
    for kind, outer in (("drelu", 1.0), ("drelu_log1p", 1 / (1 + 3.0))):
        gate = of_kind(kind, theta=2.0)
        d_theta_d_raw = 4.0 * torch.sigmoid(gate.raw.detach()[1]).item()
        assert gradients(gate, 5.0) == pytest.approx((outer, -outer * d_theta_d_raw), rel=1e-3)
        assert gradients(gate, 1.99) == (0, 0)


@pytest.mark.parametrize("kind", GATES.names())
def test_the_unit_is_a_typical_value(kind: str) -> None:
    """What a score one scale above a threshold near zero comes to."""
    gate = of_kind(kind, theta=0.004)
    torch.testing.assert_close(gate(torch.tensor([4.0]), torch.tensor([0]))[0], gate.unit, rtol=1e-2, atol=0)


def test_the_gradient_in_z_is_one_above_the_threshold_and_zero_below() -> None:
    assert gradients(calibrated(2.0), 2.01)[0] == 1
    assert gradients(calibrated(2.0), 1.99)[0] == 0


def test_the_gradient_in_theta_is_the_smoothed_jump() -> None:
    theta, scale = 2.0, 4.0
    gate = calibrated(theta, scale)
    width = gate.bandwidth
    d_theta_d_raw = scale * torch.sigmoid(gate.raw.detach()[1]).item()
    for z in (theta - 3 * width, theta - 0.5 * width, theta + width):
        sigma = torch.sigmoid(torch.tensor((z - theta) / width)).item()
        expected = -theta * sigma * (1 - sigma) / width * d_theta_d_raw
        assert gradients(gate, z)[1] == pytest.approx(expected, rel=1e-3)
        assert expected < 0  # a higher threshold lets less through


def test_scores_outside_the_window_do_not_move_theta() -> None:
    gate = calibrated()
    edge = SURROGATE_WINDOW * gate.bandwidth
    for z in (2.0 - 1.01 * edge, 2.0 + 1.01 * edge):
        assert gradients(gate, z)[1] == 0
    for z in (2.0 - 0.99 * edge, 2.0 + 0.99 * edge):
        assert gradients(gate, z)[1] < 0


def test_open_probability_is_a_half_at_the_threshold_and_rises_with_the_score() -> None:
    gate = calibrated(2.0)
    probability = gate.open_probability(torch.tensor([-1.0, 2.0, 5.0]), torch.zeros(3, dtype=torch.long))
    torch.testing.assert_close(probability, torch.tensor([0.0, 0.5, 1.0]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", GATES.names())
@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_the_number_of_active_tokens_really_falls_under_an_l0_loss(scale: float, kind: str) -> None:
    """The known trap: log θ under an Adam-type optimiser hardly moves, and a narrow bandwidth passes no gradient."""
    gate = of_kind(kind, scale, scale, vocab_size=50)
    z: Tensor = scale * (1 + 0.5 * torch.randn(40, 50, generator=torch.Generator().manual_seed(0)))
    token = torch.arange(50).repeat(40)

    def active() -> float:
        return (gate(z.flatten(), token) > 0).float().mean().item()

    config = TrainingConfig()
    optimizer = schedule_free_adamw(parameter_groups([gate], config), 0, 60)
    before = active()
    optimizer.train()
    for _ in range(60):
        optimizer.zero_grad()
        gate.open_probability(z.flatten(), token).mean().backward()
        optimizer.step()
    optimizer.eval()
    assert before > 0.45
    assert active() < 0.7 * before
