"""Sparsity: kinds of pressure on the number of active tokens, all of which stop at a target, behind `SPARSITIES`.

Each returns one number a row, about 1 for a row at the target. Without a target the pressure goes on until a single
token is left, or is too weak to bite at all; so `SparsityLoss` is told how many tokens were active, and rests at or
below its target. Single rows far above it are pressed on whatever the average.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from splade.circuits.losses import FREQUENCY_DECAY, FeatureFrequencyTracker, expected_active
from splade.models.layers.activation import ThresholdGate
from splade.models.state import CircuitState
from splade.registry import Registry

SPARSITIES: Registry[type[SparsityLoss]] = Registry("sparsity loss")

L0_SHARE = 0.1
"""Weight of the count beside the L1 norm, which alone shrinks values without shutting gates."""

COMMON = 0.1
"""Share of texts in which a token fires from which on it counts as common (α of DF-FLOPS)."""

STEEPNESS = 10
"""How sharply rare and common tokens are told apart (β of DF-FLOPS)."""


CROWDED = 4
"""A row is crowded when it has more than so many times the active tokens aimed at. Without a bound for single rows a
rare class is said by lighting everything: a tagger's *York* in *New York* lit 3,000 tokens, which an average over all
words hardly feels, and scores that far above θ have no gradient of the count."""


class SparsityLoss(nn.Module, ABC):
    """A pressure that acts while a row has more active tokens than aimed at, on average over the step before, and one
    on what is too much in single rows, which always acts.

    The step before decides, so that no process waits for another in the middle of a step, and the hard count decides,
    because the differentiable one also counts what the gate has just shut.
    """

    def __init__(self, vocab_size: int, target: float):
        super().__init__()
        self.target = target

    def forward(self, state: CircuitState, gate: ThresholdGate, active: Tensor) -> Tensor:
        """(R,); `active` (): active tokens a row in the step before."""
        return (active > self.target).float() * self.pressure(state, gate) + self.crowding(state, gate)

    def crowding(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        """(R,) Σ_j s_j/(unit·target) over a row's active tokens j beyond its CROWDED·target most active."""
        rows = state.rows
        beyond = (rows.value > 0) & ~rows.most_active(round(CROWDED * self.target))
        return rows.sum_rows(rows.value * beyond) / (gate.unit * self.target)

    @abstractmethod
    def pressure(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        """(R,) what is pressed down."""


@SPARSITIES.register("l0")
class L0(SparsityLoss):
    """Σ_j σ((z_j − θ_j)/ε) / target."""

    def pressure(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        return expected_active(state, gate) / self.target


@SPARSITIES.register("l1_l0")
class L1L0(SparsityLoss):
    """(Σ_j s_j/unit + 0.1·Σ_j σ((z_j − θ_j)/ε)) / target, with values in the gate's unit.

    The gradient of L1 is the same for small values as for large ones, so it does not fade where many are small.
    """

    def pressure(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        return (state.rows.sum_rows() / gate.unit + L0_SHARE * expected_active(state, gate)) / self.target


@SPARSITIES.register("df_flops")
class DocumentFrequencyFlops(SparsityLoss, FeatureFrequencyTracker):
    """Σ_j w_j·s_j / (‖s‖₂·√target),      w_j = 1 + 1/(1 + (df_j^(log_α 2) − 1)^β),   df a moving average over rows.

    ‖s‖₁/‖s‖₂ is √n for n equal values whatever their size, so shrinking all of them gains nothing. The weight, the
    logistic of DF-FLOPS (Porco et al., 2025), rises from 1 for rare tokens to 2 for common ones; with theirs alone,
    which falls to 0, nothing would press on the rare tokens that most of a text's are.
    """

    frequency: Tensor

    def __init__(self, vocab_size: int, target: float):
        super().__init__(vocab_size, target)
        self.register_buffer("frequency", torch.zeros(vocab_size))  # at first all tokens weigh alike

    def pressure(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        value = state.rows.value
        length = state.rows.sum_rows(value**2).clamp(min=1e-12).sqrt()  # (R,)
        weighted = state.rows.sum_rows(self.weights()[state.rows.token] * value)
        return weighted / (length * math.sqrt(self.target))

    def weights(self) -> Tensor:
        """(V,)."""
        odds = self.frequency.clamp(1e-6, 1) ** math.log(2, COMMON) - 1  # 1 at COMMON, 0 for a token of every text
        return 1 + 1 / (1 + odds**STEEPNESS)

    @torch.no_grad()
    def update(self, counts: Tensor, rows: int) -> None:
        self.frequency.mul_(FREQUENCY_DECAY).add_(counts[0] / rows, alpha=1 - FREQUENCY_DECAY)
