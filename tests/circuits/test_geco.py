"""The constraint controller: where τ comes from and which way λ goes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.circuits.geco import (
    FAR_DENSER,
    RECENT,
    SMOOTHING,
    GECOController,
    bound_from_accuracy,
    relaxation,
)
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
    assert geco.log_lambda == sign * 5


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


def test_tau_relaxes_while_the_model_is_far_denser_than_its_target_and_tightens_back() -> None:
    factors = [relaxation(density) for density in (math.inf, 2 * FAR_DENSER, FAR_DENSER, 4.0, 2.0, 1.1, 1.0, 0.2)]
    assert factors == sorted(factors, reverse=True)
    assert factors[:3] == [2, 2, 2] and factors[-2:] == [1, 1] and 1 < factors[5] < 1.1


def test_lambda_falls_under_a_relaxed_bound_that_the_tight_one_would_find_broken() -> None:
    dense, sparse = started(tau=0.5), started(tau=0.5)
    dense.step(0.8, density=20.0)
    sparse.step(0.8, density=1.0)
    assert dense.log_lambda < 0 < sparse.log_lambda
    assert dense.tau == sparse.tau == 0.5  # only the step is judged by another bound
    assert dense.gap == sparse.gap == pytest.approx(0.6)  # and what is kept goes by τ itself


def test_a_checkpoint_from_before_the_two_gaps_goes_on() -> None:
    first, second = started(), started()
    first.step(0.8)
    state = first.state_dict()
    del state["relaxed_gap"]
    second.load_state_dict(state)
    assert second == first


@pytest.mark.parametrize(("accuracy", "classes"), [(0.6, 2), (0.9, 2), (0.9, 77), (0.99, 4)])
def test_the_bound_of_an_accuracy_is_the_cross_entropy_of_a_model_just_as_sure_as_it_is_right(
    accuracy: float, classes: int
) -> None:
    rows = 1000
    right = round(accuracy * rows)
    probability = [accuracy] * right + [(1 - accuracy) / (classes - 1)] * (rows - right)
    assert bound_from_accuracy(accuracy, classes) == pytest.approx(-np.log(probability).mean())


@pytest.mark.parametrize(("accuracy", "classes", "smoothing"), [(0.9, 2, 0.1), (0.8, 5, 0.2), (1.0, 3, 0.1)])
def test_the_bound_for_smoothed_labels_is_their_cross_entropy(accuracy: float, classes: int, smoothing: float) -> None:
    """A model that always chooses class 0, and is right so often: no other constant confidence does better."""
    right = round(1000 * accuracy)
    labels = torch.tensor([0] * right + [1 + n % (classes - 1) for n in range(1000 - right)])

    def cross_entropy(sure: float) -> float:
        probability = torch.tensor([sure] + [(1 - sure) / (classes - 1)] * (classes - 1), dtype=torch.float64)
        logits = probability.log().expand(len(labels), -1)
        return float(F.cross_entropy(logits, labels, label_smoothing=smoothing))

    bound = bound_from_accuracy(accuracy, classes, smoothing)
    sure = (1 - smoothing) * accuracy + smoothing / classes
    assert bound == pytest.approx(cross_entropy(sure)) and bound > bound_from_accuracy(accuracy, classes)
    assert bound < min(cross_entropy(sure - 0.02), cross_entropy(sure + 0.02))


def test_the_bound_falls_with_the_accuracy_to_nothing() -> None:
    bounds = [bound_from_accuracy(accuracy, 3) for accuracy in (0.4, 0.6, 0.8, 0.95, 1.0)]
    assert bounds == sorted(bounds, reverse=True) and bounds[-1] == 0
