"""The training loop: one for every task and every recipe."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from rich.console import Console

from splade.config.numbers import is_auto
from splade.config.schema import TrainingConfig
from splade.errors import CheckpointError, TrainingError
from splade.models.protocol import Model
from splade.tasks import ClassificationTask, Task
from splade.training.checkpoint import newest_checkpoint, save_checkpoint
from splade.training.constants import VALIDATIONS_PER_RUN
from splade.training.history import History
from splade.training.interrupt import Interrupted, interruptible
from splade.training.lr_range import find_learning_rate
from splade.training.objective import TERMS
from splade.training.optim import trainable
from splade.training.processes import Processes
from splade.training.progress import TrainingProgress
from splade.training.resume import capture, restore
from splade.training.selection import Selection, shortcomings
from splade.training.step import Learner, StepResult
from splade.training.validation import Validation, validate


@dataclass(frozen=True)
class TrainingOutcome:
    """What a finished training reports."""

    steps: int
    """Steps done, those before an interruption included."""
    seconds: float
    seconds_per_step: float
    """Seconds of the steps alone, without validating and saving."""
    learning_rate: float
    """The backbone's, given or found."""
    tau: float | None
    """The bound on the cross-entropy; None without a circuit phase."""
    kept_step: int
    """The step whose weights the model has."""
    satisfied: bool
    """Whether those weights satisfy the constraint."""
    lacking: tuple[str, ...]
    """What it asks for and they do not have; of weights from before a resumption not known."""
    validation: dict[str, float]
    """Their figures on the validation split."""
    stopped_early: bool
    """Whether patience ran out."""


class Trainer:
    """Trains `model` on one task and leaves it with the weights chosen on the validation split."""

    def __init__(
        self,
        model: Model,
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
        self.processes = Processes(accelerator)
        self.console = console or Console(quiet=True)
        self.train_task, self.validation_task, self.config = train, validation, config
        self.folder, self.run_id, self.title, self.opening = folder, run_id, title, opening
        self.batches = train.batches(batch_size, seed, shuffle=True)
        self.steps_per_epoch = math.ceil(len(self.batches) / config.gradient_accumulation_steps)
        self.total = config.max_steps or self.steps_per_epoch * config.epochs
        self.learner = Learner(
            model, train, config, self.processes, seed=seed, total=self.total, steps_per_epoch=self.steps_per_epoch
        )
        self.model, self.recipe = self.learner.model, self.learner.objective.recipe
        self.warmup = round(config.warmup_fraction * self.total) if self.recipe.has_circuit_phase else self.total
        if self.recipe.has_circuit_phase and not 2 <= self.warmup < self.total:
            raise TrainingError(
                f"The run has {self.total} step(s) of which {self.warmup} would be warm-up, but both phases need steps "
                "(the warm-up at least 2); use more training texts or epochs, a smaller training.batch_size or another "
                "training.warmup_fraction."
            )
        self.eval_every = config.eval_every or max(1, math.ceil(self.total / VALIDATIONS_PER_RUN))
        self.save_every = config.save_every or self.eval_every
        self.selection = Selection(config.early_stopping_patience)
        self.history = History(folder / "metrics.jsonl" if folder and self.processes.writes else None)
        self.seconds, self.step_seconds = 0.0, 0.0
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])
        self._unlogged: list[StepResult] = []  # steps since the last line of the history

    @property
    def step(self) -> int:
        """Steps done."""
        return self.learner.step

    @property
    def phase(self) -> str:
        """The phase of the last step."""
        return "circuit" if self.step > self.warmup else "warmup"

    # --- running ---------------------------------------------------------------------------------------------------

    def run(self, resume: bool = False) -> TrainingOutcome:
        """Train to the end; with `resume`, go on from the newest whole checkpoint."""
        if resume:
            self._restore()
        else:
            self.history.begin(self.opening)
            self._find_learning_rate()
        self.start()
        started, stopped = time.perf_counter() - self.seconds, self.selection.out_of_patience
        with (
            interruptible(self._say) as interrupted,
            TrainingProgress(self.console, self.title, self.total, self.step) as progress,
        ):
            while self.step < self.total and not stopped:
                leave = self._timed_step(started, interrupted)
                if self._is_due(self.config.log_every):
                    progress.update(self.step, self._log())
                if self._is_due(self.eval_every):
                    stopped = self._validate_and_select(progress)
                leave = leave or (self.processes.count == 1 and interrupted())  # several agree within the next step
                if self._is_due(self.save_every) or stopped or leave:
                    self._save()
                if leave:
                    raise Interrupted(f"Stopped after step {self.step} of {self.total}; all is saved.")
        self._take_best_weights()
        return self._outcome(stopped)

    def start(self) -> None:
        """Put everything into its state for training."""
        self.learner.train()

    def advance(self, interrupted: bool = False) -> StepResult:
        """One step after `start`, without validation, log or checkpoint."""
        if self.step == self.warmup:
            self.learner.start_circuit_phase()
        return self.learner.advance(self._step_batches(), self.step >= self.warmup, interrupted)

    def _timed_step(self, started: float, interrupted: Callable[[], bool]) -> bool:
        """Advance; whether to leave after this step."""
        began = time.perf_counter()
        result = self.advance(interrupted())
        now = time.perf_counter()
        self.seconds, self.step_seconds = now - started, self.step_seconds + now - began
        self._unlogged.append(result)
        return result.interrupted

    def _is_due(self, every: int) -> bool:
        return self.step % every == 0 or self.step == self.total

    def _step_batches(self) -> list[np.ndarray]:
        epoch, index = divmod(self.step, self.steps_per_epoch)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self.batches.epoch(epoch))
        size = self.config.gradient_accumulation_steps
        return self._epoch[1][index * size : (index + 1) * size]

    def _find_learning_rate(self) -> None:
        if is_auto(self.config.learning_rate):
            rate = find_learning_rate(self.learner, self.batches.epoch(0)) if self.processes.rank == 0 else 0.0
            rate_of_all = self.processes.sum(torch.tensor(rate, dtype=torch.float64, device=self.processes.device))
            self.learner.learn_at(float(rate_of_all))
            self._say(f"Learning rate {self.learner.learning_rate:g}, found by a range test.")

    def _take_best_weights(self) -> None:
        self.learner.optimizer.eval()
        with torch.no_grad():
            for name, parameter in trainable(self.model).items():
                parameter.copy_(self.selection.best.weights[name])
        self.model.eval()

    def _outcome(self, stopped: bool) -> TrainingOutcome:
        best = self.selection.best
        return TrainingOutcome(
            steps=self.step,
            seconds=self.seconds,
            seconds_per_step=self.step_seconds / max(1, self.step),
            learning_rate=self.learner.learning_rate,
            tau=self.learner.geco.tau,
            kept_step=best.step,
            satisfied=best.satisfied,
            lacking=best.lacking,
            validation=Validation(self.validation_task.figure, best.score, best.ce, best.active).figures(),
            stopped_early=stopped,
        )

    def _say(self, sentence: str) -> None:
        self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    # --- validation and log ----------------------------------------------------------------------------------------

    def validate(self) -> Validation:
        """The validation split's figures of the model as it is."""
        return validate(self.model, self.validation_task, self.learner.objective, self.processes)

    def _validate_and_select(self, progress: TrainingProgress) -> bool:
        """Validate, keep the weights if they are the best so far; whether patience has run out."""
        decision = "not kept, the circuit phase is to come"
        with self.learner.evaluating():
            validation = self.validate()
            if self.phase == "circuit" or not self.recipe.has_circuit_phase:
                lacking = shortcomings(validation.active, self.recipe, self.learner.geco, self.config)
                decision = self.selection.consider(self.model, self.step, validation, lacking)
        line = {"step": self.step, "phase": self.phase, "validation": validation.figures(), "weights": decision}
        self.history.write(line)
        progress.say(f"step {self.step}: validation {validation}; {decision}")
        return self.selection.out_of_patience

    def _log(self) -> dict[str, Any]:
        """Write a line of the history, means over the steps since the last."""
        rows = sum(result.totals.rows for result in self._unlogged)
        means = (torch.stack([result.totals.sums for result in self._unlogged]).sum(0) / rows).tolist()
        words_per_step = self.train_task.encoded.words / max(1, self.steps_per_epoch)
        line = {
            "step": self.step,
            "epoch": self.step / self.steps_per_epoch,
            "phase": self.phase,
            "loss": sum(result.loss for result in self._unlogged) / len(self._unlogged),
            **dict(zip(TERMS, means, strict=True)),
            "tau": self.learner.geco.tau,
            "lambda": self.learner.geco.weight,
            "words_per_second": words_per_step * self.step / max(self.seconds, 1e-9),
            "seconds": self.seconds,
        }
        self._unlogged = []
        self.history.write(line)
        return line

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def _save(self) -> None:
        if self.folder is None:
            return
        if self.processes.writes:
            save_checkpoint(self.folder / "checkpoints", self.step, capture(self))
        self.processes.wait()

    def _restore(self) -> None:
        if self.folder is None:
            raise CheckpointError("There is nothing to resume: this training writes no checkpoints.")
        checkpoint, refused = newest_checkpoint(self.folder / "checkpoints")
        for sentence in refused:
            self._say(sentence)
        restore(self, checkpoint)
        self.history.cut(self.step)
        self._say(f"Resuming after step {self.step} of {self.total}.")


def train_classification(
    model: Model,
    train: ClassificationTask,
    validation: ClassificationTask,
    config: TrainingConfig,
    *,
    resume: bool = False,
    **options: Any,
) -> TrainingOutcome:
    """Train `model` to classify texts; `options` are those of `Trainer`."""
    return Trainer(model, train, validation, config, **options).run(resume)
