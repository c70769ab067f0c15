"""Optimisers, which parameters they move at which rate, and gradient centralisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from schedulefree import AdamWScheduleFree
from torch import Tensor, nn

from splade.config.schema import TrainingConfig
from splade.models.layers.activation import ThresholdGate, inverse_softplus
from splade.models.protocol import Model
from splade.models.roles import Module, Role, tensor_roles
from splade.registry import Registry
from splade.training.constants import AVERAGE_POWER, DERIVED_WEIGHT_DECAY, LARGEST_ACTIVE_PER_STEP, THRESHOLD_RAISE
from splade.training.recipes import RECIPES

OPTIMIZERS: Registry[Callable[[list[dict[str, Any]], int, int], Any]] = Registry("optimizer")


def trainable(module: Module) -> dict[str, nn.Parameter]:
    """The parameters that learn, by name."""
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def parameter_groups(modules: Iterable[Module], config: TrainingConfig) -> list[dict[str, Any]]:
    """Three rates: the pretrained backbone's, the new parts', and the thresholds' (which are never decayed).

    `modules`: the model, and any losses that learn. Each parameter is what its module says it is (`tensor_roles`).
    """
    rates: dict[Role, float] = {
        "backbone": float(config.learning_rate),
        "head": config.head_learning_rate,
        "gate": RECIPES.get(config.recipe).gate_rate * config.gate_learning_rate,
    }
    groups: dict[Role, list[Tensor]] = {role: [] for role in rates}
    for module in modules:
        roles = tensor_roles(module)
        for name, parameter in trainable(module).items():
            groups[roles[name]].append(parameter)
    return [
        {"name": role, "params": params, "lr": rates[role], "weight_decay": _weight_decay(role, rates[role], config)}
        for role, params in groups.items()
        if params
    ]


def _weight_decay(role: Role, rate: float, config: TrainingConfig) -> float:
    if role == "gate":
        return 0.0
    return DERIVED_WEIGHT_DECAY * rate if config.weight_decay is None else config.weight_decay


@OPTIMIZERS.register("schedule_free")
def schedule_free_adamw(groups: list[dict[str, Any]], warmup_steps: int, total_steps: int) -> AdamWScheduleFree:
    """Schedule-Free AdamW (Defazio & Mishchenko, 2024): no schedule, and the averaged weights are the model.

    Off the GPU the parameters are updated one by one: each fits a cache, where `foreach` would stream all of them
    through memory a dozen times.
    """
    on_gpu = any(parameter.is_cuda for group in groups for parameter in group["params"])
    return AdamWScheduleFree(groups, warmup_steps=warmup_steps, r=AVERAGE_POWER, foreach=on_gpu)


@OPTIMIZERS.register("adamw")
class CosineAdamW(torch.optim.AdamW):
    """AdamW whose rates rise linearly over the warm-up and then fall along a cosine to nothing.

    Fused: one pass over each parameter in the place of a dozen, on two CPU cores 4 ms a step of MiniLM instead of 28.
    """

    def __init__(self, groups: list[dict[str, Any]], warmup_steps: int, total_steps: int):
        super().__init__([{**group, "base_lr": group["lr"], "k": 0} for group in groups], fused=True)
        self.warmup_steps, self.total_steps = warmup_steps, total_steps

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            done = group["k"] / max(1, self.total_steps)
            rise = min(1.0, (group["k"] + 1) / max(1, self.warmup_steps))
            group["lr"] = group["base_lr"] * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
            group["k"] += 1
        super().step()

    def train(self) -> None:
        """The weights trained are the model: nothing to switch."""

    def eval(self) -> None:
        """The weights trained are the model: nothing to switch."""


def thresholds(model: Module) -> list[Tensor]:
    """The parameters that are thresholds."""
    roles = tensor_roles(model)
    return [parameter for name, parameter in model.named_parameters() if roles[name] == "gate"]


def hold_thresholds(parameters: Iterable[Tensor]) -> None:
    """Leave thresholds where they start, low, for a step: a token that is shut gets no gradient to learn from."""
    for parameter in parameters:
        parameter.grad = None


@torch.no_grad()
def limit_active(gate: ThresholdGate, active: float) -> None:
    """Raise all thresholds together where a step of the warm-up had more `active` tokens than it may cost."""
    if active > LARGEST_ACTIVE_PER_STEP:
        gate.raw.copy_(inverse_softplus((1 + THRESHOLD_RAISE) * F.softplus(gate.raw)))


@torch.no_grad()
def centralise_gradients(parameters: Iterable[Tensor]) -> None:
    """g ← g − mean over inputs, on weight matrices (Yong et al., 2020)."""
    for parameter in parameters:
        if parameter.grad is not None and parameter.ndim > 1:
            parameter.grad -= parameter.grad.mean(dim=tuple(range(1, parameter.ndim)), keepdim=True)


def centralised_parameters(model: Model) -> list[Tensor]:
    """The backbone's weight matrices. Not the head's, whose rows are words, nor embeddings: a lookup has no inputs."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    learning = trainable(model.backbone).values()
    return [parameter for parameter in learning if parameter.ndim > 1 and id(parameter) not in embeddings]
