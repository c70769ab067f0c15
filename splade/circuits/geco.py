"""GECO: minimise the circuit objective subject to cross-entropy ≤ τ (Rezende & Viola, 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from splade.errors import TrainingError

LARGEST_LOG_LAMBDA = 5.0
"""λ stays within e^±5: beyond that one side of the trade has no influence left and takes long to come back."""

RECENT = 50
"""Warm-up values of the cross-entropy that τ is read from; older ones are of a model that knew less."""

TAU_PERCENTILE = 25
"""τ is what the warm-up reached in its better batches: ambitious, and known to be possible."""

SMALLEST_TAU = 0.01
"""A warm-up that fits its batches perfectly must not make every later gap infinite."""

SMOOTHING = 0.98
"""Weight of the past in the moving average of (CE − τ)/τ; single batches are far noisier than the constraint."""

FAR_DENSER = 8.0
"""Times the target from which on τ is relaxed most: about where a model stands after the warm-up."""

LARGEST_RELAXATION = 1.0
"""The most that τ is raised by, as a share of itself: some accuracy may go to find a sparse solution, not all."""


@dataclass
class GECOController:
    """One multiplier λ for the cross-entropy, raised while the constraint is broken and lowered while it holds.

        log λ ← clamp(log λ + η·EMA((CE − τ)/τ), ±5),   η = 2/(steps_per_epoch + 1),   loss = circuit + λ·CE

    The gap is relative to τ: an absolute gap of 0.05 nats is a quarter of a good binary classifier's cross-entropy,
    yet would move log λ by 0.1 only in a whole run of 400 steps an epoch.
    """

    steps_per_epoch: int
    tau: float | None = None
    log_lambda: float = 0.0
    gap: float | None = None
    """Moving average of (CE − τ)/τ, by which weights are kept; None before the first circuit step."""
    relaxed_gap: float | None = None
    """The same by the relaxed τ of each step (see `relaxation`), by which λ moves."""
    recent: list[float] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """λ."""
        return math.exp(self.log_lambda)

    def observe_warmup(self, ce: float) -> None:
        """Note the cross-entropy of one warm-up step."""
        self.recent = [*self.recent[-(RECENT - 1) :], ce]

    def start(self, tau: float | None = None) -> None:
        """End the warm-up and fix τ: `tau` if given, else the 25th percentile of the recent warm-up values."""
        if tau is None:
            if len(self.recent) < 2:
                raise TrainingError(
                    f"The warm-up had {len(self.recent)} step(s), too few to set the constraint on the cross-entropy "
                    "from; use more training texts or epochs, a larger training.warmup_fraction or a smaller "
                    "training.batch_size."
                )
            tau = float(np.percentile(self.recent, TAU_PERCENTILE))
        self.tau = tau

    def step(self, ce: float, density: float = 1.0) -> None:
        """Move λ after one optimiser step of the circuit phase; `density` is explained at `relaxation`."""
        if self.tau is None:
            raise TrainingError("The circuit phase began before the warm-up had ended.")
        self.gap = _average(self.gap, ce, self.tau)
        self.relaxed_gap = _average(self.relaxed_gap, ce, self.tau * relaxation(density))
        moved = self.log_lambda + 2 / (self.steps_per_epoch + 1) * self.relaxed_gap
        self.log_lambda = min(max(moved, -LARGEST_LOG_LAMBDA), LARGEST_LOG_LAMBDA)

    def state_dict(self) -> dict[str, object]:
        names = ("tau", "log_lambda", "gap", "relaxed_gap", "recent")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tau, self.log_lambda = state["tau"], state["log_lambda"]
        self.gap, self.recent = state["gap"], list(state["recent"])
        self.relaxed_gap = state.get("relaxed_gap", self.gap)  # older checkpoints have only the relaxed one


def _average(before: float | None, ce: float, tau: float) -> float:
    gap = (ce - tau) / max(tau, SMALLEST_TAU)
    return gap if before is None else SMOOTHING * before + (1 - SMOOTHING) * gap


def relaxation(density: float) -> float:
    """1 + min(1, log d / log 8), the factor on τ while a model has d > 1 times the active tokens aimed at, else 1.

    Far from its target a model may give up some accuracy to get there; at the target τ is what it was.
    """
    return 1 + LARGEST_RELAXATION * min(1.0, math.log(max(density, 1.0)) / math.log(FAR_DENSER))


def bound_from_accuracy(accuracy: float, num_classes: int, smoothing: float = 0.0) -> float:
    """τ = −q·log q − (1 − q)·log((1 − q)/(C − 1)),   q = (1 − ε)·p + ε/C:

    the cross-entropy of a model that is right with probability p, gives its choice always the probability q that labels
    smoothed by ε give it on average, and divides the rest evenly. Without smoothing q is p.

    An approximation, and a generous one: among models whose confidence is honest, one that knows when it is sure has a
    lower cross-entropy at the same accuracy. An overconfident one may miss τ at an accuracy of p.
    """
    if accuracy <= 1 / num_classes:
        raise TrainingError(
            f"The target accuracy is {accuracy:g}, which guessing among {num_classes} classes has too "
            f"({1 / num_classes:.3g}); set training.target_accuracy to more than that, or leave it out."
        )
    sure = (1 - smoothing) * accuracy + smoothing / num_classes
    wrong = 1 - sure
    return -sure * math.log(sure) - (wrong * math.log(wrong / max(1, num_classes - 1)) if wrong > 0 else 0.0)
