"""Gates: which vocabulary scores count at all. One class a kind, behind `GATES`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.models.roles import Role
from splade.registry import Registry

GATES: Registry[type[ThresholdGate]] = Registry("gate")

DEFAULT_GATE = "jumprelu"

# Half-width, in bandwidths, of the window around θ in which an entry influences it. σ'(±6) is a hundredth of σ'(0):
# beyond it the surrogate gradient is noise, and leaving it out is what lets the backward pass touch few entries.
SURROGATE_WINDOW = 6.0


def inverse_softplus(x: Tensor) -> Tensor:
    """log(eˣ − 1), in the form that cannot overflow."""
    return x + torch.log(-torch.expm1(-x))


class _JumpReLU(torch.autograd.Function):
    """s = relu(z)·1[z > θ]; ∂s/∂z = 1[z > θ > 0]; ∂s/∂θ ≈ −θ·σ'((z − θ)/ε)/ε (Rajamanoharan et al., 2024)."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, theta: Tensor, bandwidth: float) -> Tensor:
        ctx.save_for_backward(z, theta)
        ctx.bandwidth = bandwidth
        return F.relu(z) * (z > theta)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        (grad,) = grads
        z, theta = ctx.saved_tensors
        distance = (z - theta) / ctx.bandwidth
        kernel = torch.sigmoid(distance) * torch.sigmoid(-distance) * (distance.abs() < SURROGATE_WINDOW)
        return grad * (z > theta), -grad * theta * kernel / ctx.bandwidth, None


class ThresholdGate(nn.Module, ABC):
    """What every gate shares: a threshold θ_v a token, at or below which a score counts for exactly nothing.

    Hard in training and evaluation alike, and monotone in z. θ = scale · softplus(raw): always positive, in float32,
    and it moves. `scale` is the spread of the scores the untrained model gives (`calibrate`), so that one learning rate
    and one relative bandwidth suit any backbone; log θ would barely move under an Adam-type optimiser, and a fixed
    bandwidth of 0.001 would pass almost no gradient.
    """

    parameter_role: Role = "gate"

    RELATIVE_BANDWIDTH = 0.03
    """ε as a share of `scale`: wide enough that dozens of scores a text fall into the window, narrow enough that the
    L0 proxy counts what the hard gate keeps."""

    scale: Tensor
    same_as: Tensor | None

    blocks: int = 1
    """How many times the columns are there, one block after another, with the same thresholds."""

    def __init__(self, vocab_size: int):
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(vocab_size))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("same_as", None, persistent=False)  # (V,): whose threshold each column has; None: its own

    def share_threshold(self, columns: slice, leader: int) -> None:
        """Give some columns the threshold of another, with which they then learn it."""
        same_as = torch.arange(len(self.raw)) if self.same_as is None else self.same_as
        same_as[columns] = leader
        self.same_as = same_as

    @property
    def bandwidth(self) -> float:
        return self.RELATIVE_BANDWIDTH * float(self.scale)

    @property
    def theta(self) -> Tensor:
        """(V,) thresholds."""
        theta = self.scale * F.softplus(self.raw)
        theta = theta if self.same_as is None else theta.index_select(0, self.same_as)
        return theta.repeat(self.blocks)

    @property
    def unit(self) -> Tensor:
        """() a typical value: what losses measure values in, so that they mean the same behind any gate."""
        return self.scale

    def floor(self, margin: float = SURROGATE_WINDOW) -> Tensor:
        """(V,) score below which an entry is zero and has no influence on θ either."""
        return (self.theta - margin * self.bandwidth).detach()

    @torch.no_grad()
    def calibrate(self, theta: float, scale: float) -> None:
        """Start every threshold at `theta`, a quantile of the data's scores, in units of their spread `scale`."""
        self.scale.fill_(scale)
        self.raw.fill_(float(inverse_softplus(torch.tensor(max(theta / scale, 1e-3), dtype=torch.float64))))

    @abstractmethod
    def forward(self, z: Tensor, token: Tensor) -> Tensor:
        """z and token (N,) -> values (N,)."""

    def opens(self, z: Tensor, token: Tensor) -> Tensor:
        """(N,) bool: which scores pass."""
        return z > self.theta.detach().index_select(0, token)

    def open_probability(self, z: Tensor, token: Tensor) -> Tensor:
        """(N,) σ((z − θ)/ε), whose sum over a text is the differentiable proxy of its number of active tokens."""
        return torch.sigmoid((z - self.theta.index_select(0, token)) / self.bandwidth)


@GATES.register("jumprelu")
class JumpReLUGate(ThresholdGate):
    """relu(z)·1[z > θ_v]: the whole score or nothing; θ learns through a sigmoid of width ε around it."""

    def forward(self, z: Tensor, token: Tensor) -> Tensor:
        return _JumpReLU.apply(z, self.theta.index_select(0, token), self.bandwidth)


GatedJumpReLU = JumpReLUGate
"""What an earlier of the user's documents calls it."""


@GATES.register("drelu")
class DReLUGate(ThresholdGate):
    """relu(z − θ_v): continuous, so θ has an ordinary gradient, but every value is θ smaller than its score."""

    def forward(self, z: Tensor, token: Tensor) -> Tensor:
        return F.relu(z - self.theta.index_select(0, token))


@GATES.register("drelu_log1p")
class LogDReLUGate(DReLUGate):
    """log(1 + relu(z − θ_v)): DReLU with SPLADE's saturation (Formal et al., 2021), no word can outshout the rest."""

    @property
    def unit(self) -> Tensor:
        return self.scale.log1p()

    def forward(self, z: Tensor, token: Tensor) -> Tensor:
        return super().forward(z, token).log1p()
