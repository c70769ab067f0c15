"""One optimiser step, and all that moves in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from splade.circuits.geco import GECOController, bound_from_accuracy
from splade.config.numbers import is_auto
from splade.config.schema import TrainingConfig
from splade.config.variants import make
from splade.errors import TrainingError
from splade.models.protocol import Model, is_lexical
from splade.tasks import Task
from splade.training.anchors import make_anchor
from splade.training.averaging import WeightAverage
from splade.training.constants import PROVISIONAL_LEARNING_RATE
from splade.training.objective import Objective, Totals
from splade.training.optim import (
    OPTIMIZERS,
    centralise_gradients,
    centralised_parameters,
    hold_thresholds,
    limit_active,
    parameter_groups,
    thresholds,
)
from splade.training.processes import Processes
from splade.training.selection import asks_for_sparsity


class StepResult(NamedTuple):
    """What one step of all processes together came to."""

    loss: float
    totals: Totals
    interrupted: bool
    """Whether any process was asked to leave meanwhile."""


class Learner:
    """All that moves while a model learns: its weights and their average, what the losses remember, the optimiser's
    state and λ."""

    def __init__(
        self,
        model: Model,
        task: Task,
        config: TrainingConfig,
        processes: Processes,
        *,
        seed: int,
        total: int,
        steps_per_epoch: int,
    ):
        """`total`: the steps to come, over which the learning rate falls."""
        self.model: Model = model.to(processes.device)
        self.task, self.config, self.processes = task, config, processes
        self.seed, self.total, self.step = seed, total, 0
        torch.manual_seed(seed)  # every process begins with the same dense teacher
        # Before anything is restored: an anchor holds on to the model as it starts.
        anchor = make_anchor(config, model)
        columns, width = (model.vocab_size, model.backbone.hidden_size) if is_lexical(model) else (0, 0)
        self.objective = Objective(len(model.labels), columns, config, width, anchor).to(processes.device)
        self.thresholds, self.centralised = thresholds(model), centralised_parameters(model)
        self.average = WeightAverage(model, config.weight_ema or 0.0)
        self.learn_at(PROVISIONAL_LEARNING_RATE if is_auto(config.learning_rate) else float(config.learning_rate))
        self.geco, self.target_bound = GECOController(steps_per_epoch), None
        if config.target_accuracy is not None:
            self.target_bound = bound_from_accuracy(config.target_accuracy, len(model.labels), config.label_smoothing)
        torch.manual_seed(seed + processes.rank)  # dropout differs between processes

    def learn_at(self, rate: float) -> None:
        """Set the backbone's learning rate, before the first step."""
        groups = parameter_groups([self.model, self.objective], replace(self.config, learning_rate=rate))
        steps = self.config.lr_warmup_steps, self.total
        self.optimizer = make(OPTIMIZERS, self.config.optimizer, self.config, groups, *steps)
        self.parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.learning_rate = rate

    def train(self) -> None:
        """Put everything into its state for training."""
        self.train_model()
        self.average.train()
        self.optimizer.train()

    def train_model(self) -> None:
        """Put the model into its state for training."""
        self.model.train()
        self.model.backbone.train(self.config.dropout)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """A context in which the model has its averaged weights, which are kept and saved."""
        self.optimizer.eval()
        self.average.eval()
        self.model.eval()
        try:
            yield
        finally:
            self.train()

    def start_circuit_phase(self) -> None:
        """End the warm-up and fix the bound on the cross-entropy."""
        self.geco.start(self.target_bound)

    def advance(self, batches: Sequence[np.ndarray], circuit_phase: bool, interrupted: bool = False) -> StepResult:
        """One step over accumulated `batches` of rows; also tells whether any process was `interrupted`."""
        rows = sum(self.task.size(batch) for batch in batches)
        result = self._add_gradients(batches, rows, circuit_phase, interrupted)
        if not math.isfinite(result.loss):
            raise TrainingError(
                f"The loss became {result.loss} at step {self.step + 1}; lower training.learning_rate (now "
                f"{self.learning_rate:g}) or training.head_learning_rate and begin anew with --overwrite."
            )
        self._move_weights(circuit_phase)
        if circuit_phase:
            self.objective.end_step(self.processes.sum, rows)
            self.geco.step(result.totals.mean("ce"), self._density)
        else:
            if self.objective.recipe.has_circuit_phase and is_lexical(self.model):
                limit_active(self.model.encoder.gate, result.totals.sum("active"))
            self.geco.observe_warmup(result.totals.mean("ce"))
        self.step += 1
        return result

    def loss(self, rows: np.ndarray, circuit_phase: bool) -> tuple[Tensor, Totals]:
        """The objective on some rows, summed over them, and the figures to report."""
        batch = self.task.batch(rows).to(self.processes.device)
        sequence = self.model(batch.input_ids, batch.attention_mask)
        state = self.task.decide(self.model, sequence, batch)
        chosen = self.task.circuit_rows(batch.labels) if circuit_phase else None
        return self.objective(self.model, state, batch.labels, circuit_phase, self.geco.weight, sequence, chosen)

    def _add_gradients(
        self, batches: Sequence[np.ndarray], rows: int, circuit_phase: bool, interrupted: bool
    ) -> StepResult:
        """Read every batch forward and backward, each process its share; `rows`: of all of them."""
        device = self.processes.device
        sums, loss_sum = Totals.empty(device).sums, torch.zeros((), device=device)
        for batch in batches:
            share = self.processes.share(batch)
            if len(share) == 0:
                continue
            loss, totals = self.loss(share, circuit_phase)
            (loss / rows).backward()
            sums += totals.sums
            loss_sum += loss.detach() / rows
        noted = torch.tensor([float(interrupted)], device=device)
        figures = self.processes.sum(torch.cat([sums, loss_sum[None], noted]))
        return StepResult(float(figures[-2]), Totals(figures[:-2], rows), bool(figures[-1] > 0))

    def _move_weights(self, circuit_phase: bool) -> None:
        if not circuit_phase and self.objective.recipe.has_circuit_phase:
            hold_thresholds(self.thresholds)
        self.processes.sum_gradients(self.parameters)
        centralise_gradients(self.centralised)
        nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.average.update(self.step)

    @property
    def _density(self) -> float:
        """Active tokens a row in the last step, in units of the target, where the recipe lets τ depend on it."""
        recipe = self.objective.recipe
        if not (recipe.relaxes_tau and asks_for_sparsity(recipe, self.config)):
            return 1.0
        return float(self.objective.active_before) / self.config.active_target
