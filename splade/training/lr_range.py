"""The learning-rate range test (Smith, 2017): train a little at ever higher rates and see where it goes wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from splade.errors import TrainingError
from splade.training.optim import centralise_gradients, hold_thresholds, parameter_groups
from splade.training.step import Learner

LOWEST, HIGHEST = 1e-6, 3e-2
"""Far below and far above any rate at which a pretrained encoder is trained with an Adam-type optimiser."""

STEPS = 60
"""Steps of the test: the rate grows by a fifth a step."""

SMOOTHING = 0.8
"""Weight of the past in the moving average of the loss, which single batches would otherwise decide."""

DIVERGED = 2.0
"""Times the first loss at which the test ends."""

SAFETY = 10.0
"""The rate chosen is so many times below the one with the lowest loss, after which the loss rises."""


def find_learning_rate(learner: Learner, batches: Sequence[np.ndarray]) -> float:
    """A rate for the backbone: a tenth of the one at which the loss of the warm-up was lowest, to two digits.

    The head learns at its own rate meanwhile. Weights and random state are put back, so that a training at
    the rate found is the very one that began with it.
    """
    before = [parameter.detach().clone() for parameter in learner.parameters]
    with torch.random.fork_rng():
        torch.manual_seed(learner.seed)
        rates, losses = _sweep(learner, batches)
    if not losses:
        raise TrainingError("The loss was no finite number before the first step; check the texts and the backbone.")
    with torch.no_grad():
        for parameter, value in zip(learner.parameters, before, strict=True):
            parameter.copy_(value)
            parameter.grad = None
    return float(f"{choose(rates, losses):.1e}")


def choose(rates: list[float], losses: list[float]) -> float:
    """A tenth of the rate with the lowest smoothed loss."""
    average, smooth = 0.0, []
    for number, loss in enumerate(losses, 1):
        average = SMOOTHING * average + (1 - SMOOTHING) * loss
        smooth.append(average / (1 - SMOOTHING**number))
    return rates[smooth.index(min(smooth))] / SAFETY


def _sweep(learner: Learner, batches: Sequence[np.ndarray]) -> tuple[list[float], list[float]]:
    """The rates tried, and the mean loss of the batch before each step."""
    config = replace(learner.config, learning_rate=LOWEST)
    optimizer = torch.optim.AdamW(parameter_groups([learner.model, learner.objective], config))
    backbone = next(group for group in optimizer.param_groups if group["name"] == "backbone")
    rates: list[float] = []
    losses: list[float] = []
    learner.train_model()
    for step in range(STEPS):
        backbone["lr"] = LOWEST * (HIGHEST / LOWEST) ** (step / (STEPS - 1))
        total, totals = learner.loss(batches[step % len(batches)], circuit_phase=False)
        loss = total / totals.rows
        if not math.isfinite(loss.item()) or (losses and loss.item() > DIVERGED * losses[0]):
            break
        rates.append(backbone["lr"])
        losses.append(loss.item())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if learner.objective.recipe.has_circuit_phase:
            hold_thresholds(learner.thresholds)
        centralise_gradients(learner.centralised)
        nn.utils.clip_grad_norm_(learner.parameters, config.max_grad_norm)
        optimizer.step()
    return rates, losses
