"""The constraint controller: where τ comes from and which way λ goes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.circuits.geco import LARGEST_LOG_LAMBDA, RECENT, SMOOTHING, GECOController
from splade.errors import TrainingError


def started(tau: float = 0.5, steps_per_epoch: int = 9) -> GECOController:
    geco = GECOController(steps_per_epoch)
    geco.start(tau)
    return geco


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 5), min_size=2, max_size=3 * RECENT))
def test_tau_is_the_lower_quartile_of_the_recent_warmup(values: list[float]) -> None:
    geco = GECOController(steps_per_epoch=10)
    for ce in values:
        geco.observe_warmup(ce)
    geco.start()
    assert geco.tau == pytest.approx(np.percentile(values[-RECENT:], 25))


def test_a_given_tau_needs_no_warmup() -> None:
    assert started(0.3).tau == 0.3


@pytest.mark.parametrize("steps", [0, 1])
def test_a_warmup_too_short_is_an_explained_error(steps: int) -> None:
    geco = GECOController(steps_per_epoch=10)
    for _ in range(steps):
        geco.observe_warmup(0.7)
    with pytest.raises(TrainingError, match=rf"warm-up had {steps} step\(s\).*training\.warmup_fraction"):
        geco.start()


def test_a_step_before_the_start_is_an_error() -> None:
    with pytest.raises(TrainingError, match="warm-up"):
        GECOController(steps_per_epoch=10).step(0.5)


def test_one_step_moves_log_lambda_by_the_rate_times_the_gap() -> None:
    geco = started(tau=1.0, steps_per_epoch=9)
    assert geco.weight == 1
    geco.step(2.0)
    assert geco.log_lambda == pytest.approx(2 / (9 + 1) * 1.0)
    assert geco.weight == pytest.approx(math.exp(0.2))
    geco.step(1.0)  # the gap is a moving average: one good batch does not undo the bad one
    assert geco.gap == pytest.approx(SMOOTHING * 1.0)
    assert geco.log_lambda == pytest.approx(0.2 + 0.2 * SMOOTHING)


def test_the_gap_is_a_share_of_tau_so_that_easy_and_hard_tasks_react_alike() -> None:
    easy, hard = started(tau=0.05), started(tau=2.0)
    easy.step(0.10)
    hard.step(4.0)
    assert easy.log_lambda == pytest.approx(hard.log_lambda)
    perfect = started(tau=0.0)  # a warm-up that fits its batches perfectly
    perfect.step(0.01)
    assert math.isfinite(perfect.log_lambda) and perfect.log_lambda > 0


def test_lambda_rises_while_the_constraint_is_broken_and_falls_while_it_holds() -> None:
    broken, kept = started(), started()
    for _ in range(5):
        before = broken.weight, kept.weight
        broken.step(0.8)
        kept.step(0.2)
        assert broken.weight > before[0] and kept.weight < before[1]


@pytest.mark.parametrize(("ce", "sign"), [(100.0, 1), (-100.0, -1)])
def test_lambda_is_clamped(ce: float, sign: int) -> None:
    geco = started()
    for _ in range(50):
        geco.step(ce)
    assert geco.log_lambda == sign * LARGEST_LOG_LAMBDA


@settings(deadline=None)
@given(
    st.lists(st.floats(0.01, 3), min_size=2, max_size=8), st.lists(st.floats(0.01, 3), max_size=8), st.floats(0.01, 3)
)
def test_a_restored_controller_goes_on_as_the_first_would(
    warmup: list[float], circuit: list[float], then: float
) -> None:
    first, second = GECOController(10), GECOController(10)
    for ce in warmup:
        first.observe_warmup(ce)
    first.start()
    for ce in circuit:
        first.step(ce)
    second.load_state_dict(first.state_dict())
    first.step(then)
    second.step(then)
    assert second == first


def test_a_controller_restored_in_the_warmup_still_finds_tau() -> None:
    first, second = GECOController(10), GECOController(10)
    for ce in (0.9, 0.5, 0.7):
        first.observe_warmup(ce)
    second.load_state_dict(first.state_dict())
    second.observe_warmup(0.6)
    second.start()
    assert second.tau == pytest.approx(np.percentile([0.9, 0.5, 0.7, 0.6], 25))
    assert len(first.recent) == 3  # the two share nothing
