"""Which weights of a training are kept: the best validated ones that satisfy the constraint."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch import Tensor

from splade.circuits.geco import GECOController
from splade.config.schema import TrainingConfig
from splade.training.constants import CONSTRAINT_SLACK, SPARSE_ENOUGH, WANTED_SLACK
from splade.training.recipes import Recipe


@dataclass
class Kept:
    """The weights chosen so far, and their figures on the validation split."""

    step: int = 0
    satisfied: bool = False
    score: float = -1.0
    """The task's figure: accuracy, or entity F1."""
    ce: float = math.inf
    active: float = math.nan
    weights: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Checkpoints are compared by: constraint satisfied, score, cross-entropy."""
        return self.satisfied, self.score, -self.ce

    def figures(self) -> dict[str, float | int | bool]:
        """Everything but the weights."""
        return {name: getattr(self, name) for name in ("step", "satisfied", "score", "ce", "active")}


def satisfies(active: float, recipe: Recipe, geco: GECOController, config: TrainingConfig) -> bool:
    """Whether CE ≤ τ holds (on average, with some slack) and the model is as sparse as it should be, if it should."""
    if not recipe.has_circuit_phase:
        return True
    slack = CONSTRAINT_SLACK if config.target_accuracy is None else WANTED_SLACK
    holds = geco.gap is not None and geco.gap <= slack
    sparse = active <= SPARSE_ENOUGH * config.active_target
    return holds and (sparse or not asks_for_sparsity(recipe, config))


def asks_for_sparsity(recipe: Recipe, config: TrainingConfig) -> bool:
    """Whether anything presses on the active tokens; what a training does not aim at is not asked of it."""
    return recipe.sparsity is not None and config.loss_weights.sparsity > 0
