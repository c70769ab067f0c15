"""The training loop: one for every task and every recipe."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from rich.console import Console
from torch import Tensor, nn

from splade.circuits.geco import GECOController
from splade.config.schema import TrainingConfig
from splade.errors import CheckpointError, TrainingError
from splade.models.lexical_sae import LexicalSAE
from splade.training.checkpoint import Checkpoint, newest_checkpoint, save_checkpoint
from splade.training.constants import CONSTRAINT_SLACK, SMALLEST_SLACK, SPARSE_ENOUGH, VALIDATIONS_PER_RUN
from splade.training.objective import TERMS, Objective, Totals
from splade.training.optim import centralise_gradients, centralised_parameters, parameter_groups, schedule_free_adamw
from splade.training.progress import TrainingProgress
from splade.training.task import ClassificationTask


class Interrupted(Exception):
    """Ctrl-C was pressed; what was learned so far is saved."""


@dataclass
class Kept:
    """The checkpoint chosen so far, and how it was found."""

    step: int = 0
    satisfied: bool = False
    accuracy: float = -1.0
    ce: float = math.inf
    active: float = math.nan
    weights: dict[str, Tensor] = field(default_factory=dict)

    def figures(self) -> dict:
        return {name: value for name, value in asdict(self).items() if name != "weights"} if not self.weights else {
            "step": self.step, "satisfied": self.satisfied, "accuracy": self.accuracy, "ce": self.ce, "active": self.active
        }


@dataclass(frozen=True)
class TrainingOutcome:
    """What a finished training reports."""

    steps: int
    seconds: float
    seconds_per_step: float
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
        train: ClassificationTask,
        validation: ClassificationTask,
        config: TrainingConfig,
        *,
        batch_size: int,
        seed: int,
        folder: Path | None,
        run_id: str = "",
        accelerator: Accelerator | None = None,
        console: Console | None = None,
        title: str = "training",
    ):
        """`folder` receives `metrics.jsonl` and `checkpoints/` (None: nothing is written); `run_id` ties checkpoints
        to settings and data."""
        self.accelerator = accelerator or Accelerator()
        self.device, self.rank, self.world = (
            self.accelerator.device,
            self.accelerator.process_index,
            self.accelerator.num_processes,
        )
        self.console = console or Console(quiet=True)
        self.model, self.train_task, self.validation_task, self.config = model.to(self.device), train, validation, config
        self.folder, self.run_id, self.title = folder, run_id, title
        num_classes = getattr(model, "num_classes", None) or len(model.labels)  # type: ignore[arg-type]
        self.objective = Objective(num_classes, getattr(model, "vocab_size", 0), config).to(self.device)
        self.optimizer = schedule_free_adamw(
            parameter_groups({"model": model, "objective": self.objective}, config), config
        )
        self.parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.centralised = centralised_parameters(model)
        self.batches = train.batches(batch_size, seed, shuffle=True)
        self.steps_per_epoch = math.ceil(len(self.batches) / config.gradient_accumulation_steps)
        self.total = config.max_steps or self.steps_per_epoch * config.epochs
        self.warmup = round(config.warmup_fraction * self.total) if self.objective.recipe.has_circuit_phase else self.total
        if self.objective.recipe.has_circuit_phase and not 2 <= self.warmup < self.total:
            raise TrainingError(
                f"The run has {self.total} step(s) of which {self.warmup} would be warm-up, but both phases need steps "
                "(the warm-up at least 2); use more training texts or epochs, a smaller training.batch_size or another "
                "training.warmup_fraction."
            )
        self.geco = GECOController(self.steps_per_epoch)
        self.eval_every = config.eval_every or max(1, math.ceil(self.total / VALIDATIONS_PER_RUN))
        self.save_every = config.save_every or self.eval_every
        self.step, self.seconds, self.kept, self.stale = 0, 0.0, Kept(), 0
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])
        self._window: list[tuple[Tensor, int, float]] = []  # logged sums since the last line
        torch.manual_seed(seed + self.rank)  # dropout differs between processes

    # --- running ---------------------------------------------------------------------------------------------------

    def run(self, resume: bool = False) -> TrainingOutcome:
        """Train to the end; with `resume`, go on from the newest whole checkpoint."""
        if resume:
            self._restore()
        elif self._writes and self.folder:
            (self.folder / "metrics.jsonl").unlink(missing_ok=True)
        self.model.train()
        self.optimizer.train()
        started, stopped = time.perf_counter() - self.seconds, False
        with self._interruptible() as interrupted, TrainingProgress(
            self.console, self.title, self.total, self.step
        ) as progress:
            while self.step < self.total and not stopped:
                if self.step == self.warmup:
                    self._start_circuit_phase()
                loss, totals = self._optimise()
                self.step += 1
                self.seconds = time.perf_counter() - started
                self._window.append((totals.sums, totals.rows, loss))
                if self.step % self.config.log_every == 0 or self.step == self.total:
                    progress.update(self.step, self._log())
                if self.step % self.eval_every == 0 or self.step == self.total:
                    stopped = self._validate_and_keep(progress)
                if self.step % self.save_every == 0 or self.step == self.total or stopped or interrupted():
                    self._save()
                if interrupted():
                    raise Interrupted(f"Stopped after step {self.step} of {self.total}; all is saved.")
        self.optimizer.eval()
        self._load_weights(self.kept.weights)
        self.model.eval()
        return TrainingOutcome(
            self.step,
            self.seconds,
            self.seconds / max(1, self.step),
            self.geco.tau,
            self.kept.step,
            self.kept.satisfied,
            {"accuracy": self.kept.accuracy, "ce": self.kept.ce, "active": self.kept.active},
            stopped,
        )

    def _optimise(self) -> tuple[float, Totals]:
        """One optimiser step over its accumulated batches."""
        groups = self._step_batches()
        rows = sum(len(batch) for batch in groups)
        totals, loss_sum = Totals.empty(self.device), torch.zeros((), device=self.device)
        circuit_phase = self.step >= self.warmup
        for batch_rows in groups:
            mine = batch_rows[self.rank :: self.world]
            if len(mine) == 0:
                continue
            batch = self.train_task.batch(mine).to(self.device)
            state = self.train_task.predict(self.model, batch)
            loss, part = self.objective(self.model, state, batch.labels, circuit_phase, self.geco.weight)
            (loss / rows).backward()
            totals.sums += part.sums
            loss_sum += loss.detach() / rows
        figures = self._add_up(torch.cat([totals.sums, loss_sum[None]]))
        totals.sums, totals.rows, loss_value = figures[:-1], rows, float(figures[-1])
        if not math.isfinite(loss_value):
            raise TrainingError(
                f"The loss became {loss_value} at step {self.step + 1}; lower training.learning_rate (now "
                f"{self.config.learning_rate:g}) or training.head_learning_rate and resume from the last checkpoint."
            )
        self._add_up_gradients()
        centralise_gradients(self.centralised)
        nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.objective.end_step(self._add_up, rows)
        ce = float(totals.sums[TERMS.index("ce")]) / rows
        self.geco.step(ce) if circuit_phase else self.geco.observe_warmup(ce)
        return loss_value, totals

    def _step_batches(self) -> list[np.ndarray]:
        epoch, index = divmod(self.step, self.steps_per_epoch)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self.batches.epoch(epoch))
        size = self.config.gradient_accumulation_steps
        return self._epoch[1][index * size : (index + 1) * size]

    def _start_circuit_phase(self) -> None:
        wanted = self.config.target_accuracy
        # A model that gives the right class this probability (geometric mean) has just this cross-entropy.
        self.geco.start(None if wanted is None else -math.log(wanted))

    # --- several processes -----------------------------------------------------------------------------------------

    def _add_up(self, tensor: Tensor) -> Tensor:
        return self.accelerator.reduce(tensor, reduction="sum") if self.world > 1 else tensor

    def _add_up_gradients(self) -> None:
        """Sum gradients over processes in one message; parameters a phase does not use stay without."""
        if self.world == 1:
            return
        used = [p for p in self.parameters if p.grad is not None]
        flat = self._add_up(torch.cat([p.grad.flatten() for p in used]))  # type: ignore[union-attr]
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
        self.model.eval()
        try:
            yield
        finally:
            self.model.train()
            self.optimizer.train()

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        sums = torch.zeros(3, device=self.device)
        rows = np.arange(len(self.validation_task))[self.rank :: self.world]
        for batch in self.validation_task.in_order(64, self.device, rows):
            state = self.validation_task.predict(self.model, batch)
            ce = self.objective.cross_entropy(state.logits, batch.labels).sum()
            active = float(len(state.rows)) if isinstance(self.model, LexicalSAE) else 0.0
            sums += torch.stack([(state.logits.argmax(-1) == batch.labels).sum(), ce, ce.new_tensor(active)])
        accuracy, ce, active = (self._add_up(sums) / len(self.validation_task)).tolist()
        return {"accuracy": accuracy, "ce": ce, "active": active}

    def _validate_and_keep(self, progress: TrainingProgress) -> bool:
        """Validate, keep the weights if they are the best so far; whether patience has run out."""
        phase = "circuit" if self.step > self.warmup else "warmup"
        with self._evaluating():
            figures = self._validate()
            eligible = phase == "circuit" or not self.objective.recipe.has_circuit_phase
            better = eligible and self._rank(figures) > (self.kept.satisfied, self.kept.accuracy, -self.kept.ce)
            if better:
                satisfied = self._rank(figures)[0]
                weights = {n: p.detach().clone() for n, p in self._trainable().items()}
                self.kept = Kept(self.step, satisfied, **figures, weights=weights)
        self._write_line({"step": self.step, "phase": phase, "validation": figures})
        active = f", {figures['active']:.1f} active tokens" if figures["active"] else ""
        progress.say(f"step {self.step}: validation accuracy {figures['accuracy']:.4f}, ce {figures['ce']:.3f}{active}")
        self.stale = 0 if better or not eligible else self.stale + 1
        return self.config.early_stopping_patience is not None and self.stale >= self.config.early_stopping_patience

    def _rank(self, figures: dict[str, float]) -> tuple[bool, float, float]:
        """Checkpoints are compared by: constraint satisfied and sparse enough, accuracy, cross-entropy."""
        satisfied = True
        if self.objective.recipe.has_circuit_phase:
            tau, gap = self.geco.tau or 0.0, self.geco.gap or 0.0
            holds = gap <= max(CONSTRAINT_SLACK * tau, SMALLEST_SLACK)
            sparse = figures["active"] <= SPARSE_ENOUGH * self.config.active_target
            satisfied = holds and (sparse or not self.objective.recipe.sparsity)
        return satisfied, figures["accuracy"], -figures["ce"]

    # --- what a run writes -----------------------------------------------------------------------------------------

    def _log(self) -> dict:
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

    def _write_line(self, row: dict) -> None:
        if self._writes:
            assert self.folder is not None
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def _trainable(self) -> dict[str, Tensor]:
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    def _load_weights(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._trainable().items():
                parameter.copy_(weights[name])

    def _moving(self) -> dict[str, Tensor]:
        """Everything that changes while training: parameters, calibrated gate, what the losses remember."""
        tensors = {f"model.{name}": p for name, p in self._trainable().items()}
        tensors |= {f"model.{name}": b for name, b in self.model.named_buffers() if ".gate." in f".{name}"}
        return tensors | {f"objective.{name}": t for name, t in self.objective.state_dict(keep_vars=True).items()}

    def _save(self) -> None:
        if self.folder is None:
            return
        with self._evaluating():
            if self._writes:
                save_checkpoint(self.folder / "checkpoints", self.step, self._checkpoint())
        self.accelerator.wait_for_everyone()

    def _checkpoint(self) -> Checkpoint:
        tensors = self._moving() | {f"kept.{name}": t for name, t in self.kept.weights.items()}
        for index, parameter in enumerate(self.parameters):
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{index}.{key}"] = value
        tensors["rng"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["rng_cuda"] = torch.cuda.get_rng_state()
        groups = [{k: v for k, v in g.items() if isinstance(v, int | float)} for g in self.optimizer.param_groups]
        state = {
            "run_id": self.run_id,
            "step": self.step,
            "seconds": self.seconds,
            "stale": self.stale,
            "geco": self.geco.state_dict(),
            "groups": groups,
            "kept": self.kept.figures(),
        }
        return Checkpoint(tensors, state)

    def _restore(self) -> None:
        if self.folder is None:
            raise CheckpointError("There is nothing to resume: this training writes no checkpoints.")
        checkpoint, refused = newest_checkpoint(self.folder / "checkpoints")
        for sentence in refused:
            self.console.print(sentence, highlight=False)
        tensors, state = checkpoint.tensors, checkpoint.state
        if state["run_id"] != self.run_id:
            raise CheckpointError(
                f"The checkpoints in {self.folder} belong to a run with other settings or data; resume with the config "
                "that began it, or choose another output_dir."
            )
        with torch.no_grad():
            for name, tensor in self._moving().items():
                tensor.copy_(tensors[name])
            for index, parameter in enumerate(self.parameters):
                prefix = f"optimizer.{index}."
                for name, tensor in tensors.items():
                    if name.startswith(prefix):
                        self.optimizer.state[parameter][name[len(prefix) :]] = tensor.to(self.device)
        for group, values in zip(self.optimizer.param_groups, state["groups"], strict=True):
            group.update(values)
        self.geco.load_state_dict(state["geco"])
        self.step, self.seconds, self.stale = state["step"], state["seconds"], state["stale"]
        weights = {n[len("kept.") :]: t.to(self.device) for n, t in tensors.items() if n.startswith("kept.")}
        self.kept = Kept(**state["kept"], weights=weights)
        torch.set_rng_state(tensors["rng"].cpu())
        if "rng_cuda" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["rng_cuda"].cpu())
        if self._writes:
            _cut_history(self.folder / "metrics.jsonl", self.step)
        self.console.print(f"Resuming after step {self.step} of {self.total}.", highlight=False)

    @contextmanager
    def _interruptible(self):  # type: ignore[no-untyped-def]
        """Ctrl-C ends the training after the current step, with a checkpoint; a second one ends it at once."""
        pressed = False

        def note(number: int, frame: object) -> None:
            nonlocal pressed
            if pressed:
                raise KeyboardInterrupt
            pressed = True
            self.console.print("Ctrl-C: finishing this step and saving; press again to stop at once.", highlight=False)

        try:
            before = signal.signal(signal.SIGINT, note)
        except ValueError:  # not in the main thread, where signals cannot be caught
            yield lambda: False
            return
        try:
            yield lambda: pressed
        finally:
            signal.signal(signal.SIGINT, before)


def _cut_history(path: Path, step: int) -> None:
    """Drop the lines of steps that will be run again."""
    if path.exists():
        lines = [line for line in path.read_text().splitlines() if line and json.loads(line)["step"] <= step]
        path.write_text("".join(line + "\n" for line in lines))
