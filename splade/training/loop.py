"""The training loop: one for every task and every recipe."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from rich.console import Console
from torch import Tensor, nn

from splade.circuits.geco import GECOController, bound_from_accuracy
from splade.config.numbers import is_auto
from splade.config.schema import TrainingConfig
from splade.errors import CheckpointError, TrainingError
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import Task
from splade.training.anchors import make_anchor
from splade.training.averaging import WeightAverage
from splade.training.checkpoint import newest_checkpoint, save_checkpoint
from splade.training.constants import UNTIL_FOUND, VALIDATIONS_PER_RUN
from splade.training.interrupt import Interrupted, interruptible
from splade.training.lr_range import find_learning_rate
from splade.training.objective import TERMS, Objective, Totals
from splade.training.optim import (
    OPTIMIZERS,
    centralise_gradients,
    centralised_parameters,
    hold_thresholds,
    limit_active,
    parameter_groups,
)
from splade.training.progress import TrainingProgress
from splade.training.resume import capture, cut_history, restore, trainable
from splade.training.selection import Kept, asks_for_sparsity, satisfies


@dataclass(frozen=True)
class TrainingOutcome:
    """What a finished training reports."""

    steps: int
    seconds: float
    seconds_per_step: float
    learning_rate: float
    tau: float | None
    kept_step: int
    satisfied: bool
    validation: dict[str, float]
    stopped_early: bool


class Trainer:
    """Trains `model` on one task and leaves it with the weights chosen on the validation split."""

    def __init__(
        self,
        model: nn.Module,
        train: Task,
        validation: Task,
        config: TrainingConfig,
        *,
        batch_size: int,
        seed: int,
        folder: Path | None,
        run_id: str = "",
        accelerator: Accelerator | None = None,
        console: Console | None = None,
        title: str = "training",
        opening: Sequence[dict[str, Any]] = (),
    ):
        """`folder` receives `metrics.jsonl` and `checkpoints/` (None: nothing is written); `run_id` ties checkpoints
        to settings and data; `opening` are lines of `metrics.jsonl` about what came before."""
        self.accelerator = accelerator or Accelerator()
        self.device, self.rank, self.world = (
            self.accelerator.device,
            self.accelerator.process_index,
            self.accelerator.num_processes,
        )
        self.console = console or Console(quiet=True)
        self.model, self.train_task, self.validation_task, self.config = (
            model.to(self.device),
            train,
            validation,
            config,
        )
        self.folder, self.run_id, self.title, self.opening = folder, run_id, title, opening
        self.num_classes = getattr(model, "num_classes", None) or len(model.labels)  # type: ignore[arg-type]
        torch.manual_seed(seed)  # every process begins with the same guide
        width = model.backbone.hidden_size if isinstance(model, LexicalSAE) else 0
        # Before anything is restored: an anchor holds on to the model as it starts.
        anchor = make_anchor(config.anchor, model)
        columns = getattr(model, "vocab_size", 0)
        self.objective = Objective(self.num_classes, columns, config, width, anchor).to(self.device)
        self.batches = train.batches(batch_size, seed, shuffle=True)
        self.steps_per_epoch = math.ceil(len(self.batches) / config.gradient_accumulation_steps)
        self.total = config.max_steps or self.steps_per_epoch * config.epochs
        self.centralised = centralised_parameters(model)
        self.average = WeightAverage(model, config.weight_ema or 0.0)
        self._learn_at(UNTIL_FOUND if is_auto(config.learning_rate) else float(config.learning_rate))
        self.warmup = (
            round(config.warmup_fraction * self.total) if self.objective.recipe.has_circuit_phase else self.total
        )
        if self.objective.recipe.has_circuit_phase and not 2 <= self.warmup < self.total:
            raise TrainingError(
                f"The run has {self.total} step(s) of which {self.warmup} would be warm-up, but both phases need steps "
                "(the warm-up at least 2); use more training texts or epochs, a smaller training.batch_size or another "
                "training.warmup_fraction."
            )
        self.geco, self.wanted_bound = GECOController(self.steps_per_epoch), None
        if config.target_accuracy is not None:
            self.wanted_bound = bound_from_accuracy(config.target_accuracy, self.num_classes, config.label_smoothing)
        self.eval_every = config.eval_every or max(1, math.ceil(self.total / VALIDATIONS_PER_RUN))
        self.save_every = config.save_every or self.eval_every
        self.step, self.seconds, self.step_seconds, self.kept, self.stale = 0, 0.0, 0.0, Kept(), 0
        self.seed = seed
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])
        self._window: list[tuple[Tensor, int, float]] = []  # logged sums since the last line
        torch.manual_seed(seed + self.rank)  # dropout differs between processes

    # --- running ---------------------------------------------------------------------------------------------------

    def run(self, resume: bool = False) -> TrainingOutcome:
        """Train to the end; with `resume`, go on from the newest whole checkpoint."""
        if resume:
            self._restore()
        else:
            if self._writes and self.folder:
                (self.folder / "metrics.jsonl").unlink(missing_ok=True)
                for line in self.opening:
                    self._write_line(line)
            self._find_learning_rate()
        self.start()
        started, stopped = time.perf_counter() - self.seconds, self._out_of_patience
        with (
            interruptible(self._say) as interrupted,
            TrainingProgress(self.console, self.title, self.total, self.step) as progress,
        ):
            while self.step < self.total and not stopped:
                began = time.perf_counter()
                loss, totals, leave = self.advance(interrupted())
                self.seconds, self.step_seconds = (
                    time.perf_counter() - started,
                    self.step_seconds + time.perf_counter() - began,
                )
                self._window.append((totals.sums, totals.rows, loss))
                if self.step % self.config.log_every == 0 or self.step == self.total:
                    progress.update(self.step, self._log())
                if self.step % self.eval_every == 0 or self.step == self.total:
                    stopped = self._validate_and_keep(progress)
                leave = leave or (self.world == 1 and interrupted())  # several processes agree within the next step
                if self.step % self.save_every == 0 or self.step == self.total or stopped or leave:
                    self._save()
                if leave:
                    raise Interrupted(f"Stopped after step {self.step} of {self.total}; all is saved.")
        self.optimizer.eval()
        with torch.no_grad():
            for name, parameter in trainable(self.model).items():
                parameter.copy_(self.kept.weights[name])
        self.model.eval()
        return TrainingOutcome(
            self.step,
            self.seconds,
            self.step_seconds / max(1, self.step),
            self.learning_rate,
            self.geco.tau,
            self.kept.step,
            self.kept.satisfied,
            {self.validation_task.figure: self.kept.score, "ce": self.kept.ce, "active": self.kept.active},
            stopped,
        )

    def start(self) -> None:
        """Put everything into its state for training."""
        self.model.train()
        self.average.train()
        self.optimizer.train()

    def advance(self, interrupted: bool = False) -> tuple[float, Totals, bool]:
        """One step after `start`, without validation, log or checkpoint; see `_optimise`."""
        if self.step == self.warmup:
            self._start_circuit_phase()
        done = self._optimise(interrupted)
        self.step += 1
        return done

    def _optimise(self, interrupted: bool = False) -> tuple[float, Totals, bool]:
        """One optimiser step over its accumulated batches; also tells whether any process was `interrupted`."""
        groups = self._step_batches()
        rows = sum(self.train_task.size(batch) for batch in groups)
        totals, loss_sum = Totals.empty(self.device), torch.zeros((), device=self.device)
        circuit_phase = self.step >= self.warmup
        for batch_rows in groups:
            mine = batch_rows[self.rank :: self.world]
            if len(mine) == 0:
                continue
            batch = self.train_task.batch(mine).to(self.device)
            sequence = self.model(batch.input_ids, batch.attention_mask)
            state = self.train_task.decide(self.model, sequence, batch)
            chosen = self.train_task.circuit_rows(batch.labels) if circuit_phase else None
            loss, part = self.objective(
                self.model, state, batch.labels, circuit_phase, self.geco.weight, sequence, chosen
            )
            (loss / rows).backward()
            totals.sums += part.sums
            loss_sum += loss.detach() / rows
        noted = torch.tensor([float(interrupted)], device=self.device)
        figures = self._add_up(torch.cat([totals.sums, loss_sum[None], noted]))
        totals.sums, totals.rows, loss_value, leave = figures[:-2], rows, float(figures[-2]), bool(figures[-1] > 0)
        if not math.isfinite(loss_value):
            raise TrainingError(
                f"The loss became {loss_value} at step {self.step + 1}; lower training.learning_rate (now "
                f"{self.learning_rate:g}) or training.head_learning_rate and begin anew with --overwrite."
            )
        if not circuit_phase and self.objective.recipe.has_circuit_phase:
            hold_thresholds(self.model)
        self._add_up_gradients()
        centralise_gradients(self.centralised)
        nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.average.update(self.step)
        if circuit_phase:
            self.objective.end_step(self._add_up, rows)
        elif self.objective.recipe.has_circuit_phase and isinstance(self.model, LexicalSAE):
            limit_active(self.model.encoder.gate, float(totals.sums[TERMS.index("active")]))
        ce = float(totals.sums[TERMS.index("ce")]) / rows
        self.geco.step(ce, self._density) if circuit_phase else self.geco.observe_warmup(ce)
        return loss_value, totals, leave

    def _step_batches(self) -> list[np.ndarray]:
        epoch, index = divmod(self.step, self.steps_per_epoch)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self.batches.epoch(epoch))
        size = self.config.gradient_accumulation_steps
        return self._epoch[1][index * size : (index + 1) * size]

    def _start_circuit_phase(self) -> None:
        self.geco.start(self.wanted_bound)

    @property
    def _density(self) -> float:
        """Active tokens a row in the last step, in units of the target, where the recipe lets τ depend on it."""
        recipe = self.objective.recipe
        if not (recipe.relaxes_tau and asks_for_sparsity(recipe, self.config)):
            return 1.0
        return float(self.objective.active_before) / self.config.active_target

    def _learn_at(self, rate: float) -> None:
        """Set the backbone's learning rate, before the first step."""
        groups = parameter_groups(
            {"model": self.model, "objective": self.objective}, replace(self.config, learning_rate=rate)
        )
        self.optimizer = OPTIMIZERS.get(self.config.optimizer)(groups, self.config.lr_warmup_steps, self.total)
        self.parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.learning_rate = rate

    def _find_learning_rate(self) -> None:
        if is_auto(self.config.learning_rate):
            found = find_learning_rate(self) if self.rank == 0 else 0.0
            self._learn_at(float(self._add_up(torch.tensor(found, dtype=torch.float64, device=self.device))))
            self._say(f"Learning rate {self.learning_rate:g}, found by a range test.")

    def _say(self, sentence: str) -> None:
        self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    # --- several processes -----------------------------------------------------------------------------------------

    def _add_up(self, tensor: Tensor) -> Tensor:
        return self.accelerator.reduce(tensor, reduction="sum") if self.world > 1 else tensor

    def _add_up_gradients(self) -> None:
        """Sum gradients over processes in one message; parameters a phase does not use stay without."""
        if self.world == 1:
            return
        # A process without rows in this step has no gradients, so all must first agree on which parameters have one.
        has = torch.tensor([float(p.grad is not None) for p in self.parameters], device=self.device)
        used = [p for p, count in zip(self.parameters, self._add_up(has).tolist(), strict=True) if count]
        flat = self._add_up(torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in used]))
        for parameter, part in zip(used, flat.split([p.numel() for p in used]), strict=True):
            parameter.grad = part.view_as(parameter)

    @property
    def _writes(self) -> bool:
        return self.accelerator.is_main_process and self.folder is not None

    # --- validation and choice -------------------------------------------------------------------------------------

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Within: the averaged weights, which are the model; after: back to training."""
        self.optimizer.eval()
        self.average.eval()
        self.model.eval()
        try:
            yield
        finally:
            self.start()

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        task = self.validation_task
        logits = torch.zeros(len(task.labels), self.num_classes, device=self.device)  # (N, C), each by one process
        sums = torch.zeros(2, device=self.device)
        for batch in task.in_order(64, self.device, np.arange(len(task))[self.rank :: self.world]):
            state = task.predict(self.model, batch)
            logits[torch.from_numpy(batch.places).to(self.device)] = state.logits
            ce = self.objective.cross_entropy(state.logits, batch.labels).sum()
            active = float(len(state.rows)) if isinstance(self.model, LexicalSAE) else 0.0
            sums += torch.stack([ce, ce.new_tensor(active)])
        ce, active = (self._add_up(sums) / len(task.labels)).tolist()
        return {task.figure: task.score(self._add_up(logits)), "ce": ce, "active": active}

    def _validate_and_keep(self, progress: TrainingProgress) -> bool:
        """Validate, keep the weights if they are the best so far; whether patience has run out."""
        phase = "circuit" if self.step > self.warmup else "warmup"
        with self._evaluating():
            figures = self._validate()
            eligible = phase == "circuit" or not self.objective.recipe.has_circuit_phase
            satisfied = satisfies(figures["active"], self.objective.recipe, self.geco, self.config)
            score = figures[self.validation_task.figure]
            candidate = Kept(self.step, satisfied, score, figures["ce"], figures["active"])
            better = eligible and candidate.rank > self.kept.rank
            if better:
                candidate.weights = {name: p.detach().clone() for name, p in trainable(self.model).items()}
                self.kept = candidate
        self._write_line({"step": self.step, "phase": phase, "validation": figures})
        active = f", {figures['active']:.1f} active tokens" if figures["active"] else ""
        figure = self.validation_task.figure
        progress.say(f"step {self.step}: validation {figure} {score:.4f}, ce {figures['ce']:.3f}{active}")
        self.stale = 0 if better or not eligible else self.stale + 1
        return self._out_of_patience

    @property
    def _out_of_patience(self) -> bool:
        return self.config.early_stopping_patience is not None and self.stale >= self.config.early_stopping_patience

    # --- what a run writes -----------------------------------------------------------------------------------------

    def _log(self) -> dict[str, Any]:
        """One line of `metrics.jsonl`: means over the steps since the last."""
        rows = sum(r for _, r, _ in self._window)
        means = (torch.stack([s for s, _, _ in self._window]).sum(0) / rows).tolist()
        row = {
            "step": self.step,
            "epoch": self.step / self.steps_per_epoch,
            "phase": "circuit" if self.step > self.warmup else "warmup",
            "loss": sum(loss for _, _, loss in self._window) / len(self._window),
            **dict(zip(TERMS, means, strict=True)),
            "tau": self.geco.tau,
            "lambda": self.geco.weight,
            "words_per_second": self._words_per_second(),
            "seconds": self.seconds,
        }
        self._window = []
        self._write_line(row)
        return row

    def _words_per_second(self) -> float:
        a_step = self.train_task.encoded.words / max(1, self.steps_per_epoch)
        return a_step * self.step / max(self.seconds, 1e-9)

    def _write_line(self, row: dict[str, Any]) -> None:
        if self._writes:
            assert self.folder is not None
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def _save(self) -> None:
        if self.folder is None:
            return
        if self._writes:
            save_checkpoint(self.folder / "checkpoints", self.step, capture(self))
        self.accelerator.wait_for_everyone()

    def _restore(self) -> None:
        if self.folder is None:
            raise CheckpointError("There is nothing to resume: this training writes no checkpoints.")
        checkpoint, refused = newest_checkpoint(self.folder / "checkpoints")
        for sentence in refused:
            self._say(sentence)
        restore(self, checkpoint)
        if self._writes:
            cut_history(self.folder / "metrics.jsonl", self.step)
        self._say(f"Resuming after step {self.step} of {self.total}.")
