"""Which weights of a training are kept: the best validated ones that satisfy the constraint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from splade.circuits.geco import GECOController
from splade.config.schema import TrainingConfig
from splade.models.protocol import Model
from splade.training.constants import CONSTRAINT_SLACK, SPARSE_ENOUGH, TARGET_SLACK
from splade.training.optim import trainable
from splade.training.recipes import Recipe
from splade.training.validation import Validation


@dataclass
class Candidate:
    """The weights after a step, and their figures on the validation split; as it is made, worse than any."""

    step: int = 0
    satisfied: bool = False
    score: float = -1.0
    """The task's figure: accuracy, or entity F1."""
    ce: float = math.inf
    active: float = math.nan
    weights: dict[str, Tensor] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    """What the constraint asks for and they do not have."""

    @property
    def rank(self) -> tuple[bool, float, float]:
        """What candidates are compared by: constraint satisfied, score, cross-entropy."""
        return self.satisfied, self.score, -self.ce

    def figures(self) -> dict[str, float | int | bool]:
        """What they are compared by, and after how many steps."""
        return {name: getattr(self, name) for name in ("step", "satisfied", "score", "ce", "active")}


class Selection:
    """Holds the best weights so far, and loses patience when none better come."""

    def __init__(self, patience: int | None):
        """`patience`: validations without better weights after which a training ends; None: never."""
        self.patience = patience
        self.best = Candidate()
        self.stale = 0

    @property
    def out_of_patience(self) -> bool:
        return self.patience is not None and self.stale >= self.patience

    def consider(self, model: Model, step: int, validation: Validation, lacking: Sequence[str] = ()) -> str:
        """Keep a copy of the model's weights if none were better; `lacking`: their `shortcomings`. Returns what was
        decided, and why."""
        candidate = Candidate(step, not lacking, validation.score, validation.ce, validation.active)
        has = f"; the weights have {' and '.join(lacking)}" if lacking else ""
        if candidate.rank > self.best.rank:
            candidate.weights = {name: p.detach().clone() for name, p in trainable(model).items()}
            candidate.lacking = tuple(lacking)
            self.best, self.stale = candidate, 0
            return f"kept{has}"
        self.stale += 1
        return f"not kept, step {self.best.step} is better{has}"


def shortcomings(active: float, recipe: Recipe, geco: GECOController, config: TrainingConfig) -> list[str]:
    """What the constraint asks for and weights do not have: CE ≤ τ (on average, with some slack), and, if anything
    presses on them, few active tokens. Empty: the constraint is satisfied."""
    if not recipe.has_circuit_phase:
        return []
    slack = CONSTRAINT_SLACK if config.target_accuracy is None else TARGET_SLACK
    most = SPARSE_ENOUGH * config.active_target
    lacking = []
    if geco.gap is None:
        lacking.append("no step of the circuit phase")
    elif geco.gap > slack:
        lacking.append(f"a cross-entropy {geco.gap:.0%} above its limit, where {slack:.0%} is allowed")
    if asks_for_sparsity(recipe, config) and not active <= most:
        lacking.append(f"{active:.1f} active tokens, where {most:.1f} are allowed")
    return lacking


def asks_for_sparsity(recipe: Recipe, config: TrainingConfig) -> bool:
    """Whether anything presses on the active tokens; what a training does not aim at is not asked of it."""
    return recipe.sparsity is not None and config.loss_weights.sparsity > 0
