"""A training made ready: data and backbone loaded, model and trainer built, settings checked, nothing written."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from rich.console import Console
from transformers import PreTrainedTokenizerFast

from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TaggedSplit, TextSplit
from splade.errors import listed
from splade.evaluation.run import check_measures
from splade.models.backbone import Backbone
from splade.models.calibration import CALIBRATION_ROWS
from splade.models.lexical_sae import LexicalSAE
from splade.models.sense_choice import choose_senses
from splade.models.starting_point import load_backbone
from splade.run_folder import check_output_dir, run_id
from splade.tasks import TASKS, Task
from splade.training.loop import Trainer
from splade.training.memory import choose_batch_size
from splade.training.mlm import mlm_warmup
from splade.training.recipes import resolved, without_effect
from splade.utils.cuda import seed_everything
from splade.utils.one_line import one_line


@dataclass(frozen=True)
class PreparedRun:
    """A training that could begin: everything is loaded, built and checked, nothing is written."""

    config: Config
    dataset: Dataset[TextSplit | TaggedSplit]
    model: LexicalSAE
    train: Task
    validation: Task
    test: Task
    batch_size: int
    trainer: Trainer
    accelerator: Accelerator
    notes: list[str]
    """Sentences a reader of the results should not miss."""
    seconds: float
    """That loading, building and calibrating took, with the masked-LM warm-up if there is one."""


def prepare(
    config: Config,
    *,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    console: Console | None = None,
) -> PreparedRun:
    """Load data and backbone and build model and trainer; whatever is wrong with the settings shows here.

    An earlier run in `output_dir` is an error, unless to `resume` it or to `overwrite` it. A `dry_run` leaves out what
    takes long and can find nothing wrong: the masked-LM warm-up, the table of neighbours and the thresholds' start.
    """
    started = time.perf_counter()
    config = resolved(config)
    console = console or Console(quiet=True)
    accelerator = Accelerator()
    if accelerator.is_main_process:
        check_output_dir(config, resume=resume, overwrite=overwrite)
    else:
        console = Console(quiet=True)
    dataset = load_dataset(config.data, config.seed, config.task)
    early = [*dataset.notes, *without_effect(config)]
    _say(console, f"Data: {dataset.source}", *(f"Note: {note}" for note in early))  # before hours of training
    _say(console, f"Split: {overview(dataset)}", f"Output: {config.output_dir}")
    seed_everything(config.seed)
    backbone, tokenizer = load_backbone(config.model.name, revision=config.model.revision)
    if backbone.notice:
        _say(console, backbone.notice)
    max_length = min(config.data.max_length, backbone.max_length)
    train, validation, test = _tasks(config, dataset, tokenizer, max_length)
    if config.data.long_texts == "windows":
        _say(console, f"In windows: {len(train):,} training and {len(validation):,} validation texts")
    batch_size = config.training.batch_size or choose_batch_size(backbone, max_length)
    backbone.to(accelerator.device)
    if not config.model.train_embeddings:
        backbone.freeze_embeddings()
    warm = config.training.mlm_warmup_steps > 0 and not dry_run
    opening = mlm_warmup(backbone, tokenizer, train, config, batch_size) if warm else []
    model = build_model(config, backbone, tokenizer, train, dataset.label_names, blank=dry_run)
    check_measures(model, test, config.evaluation)  # a wrong lexicon must not come to light after an hour of training
    trainer = Trainer(
        model,
        train,
        validation,
        config.training,
        batch_size=batch_size,
        seed=config.seed,
        folder=Path(config.output_dir),
        run_id=run_id(config, dataset),
        accelerator=accelerator,
        console=console,
        opening=opening,
    )
    notes = [*early, *_notes(config, train, test, backbone, max_length, trainer.total)]
    seconds = time.perf_counter() - started
    return PreparedRun(
        config, dataset, model, train, validation, test, batch_size, trainer, accelerator, notes, seconds
    )


def _tasks(
    config: Config, dataset: Dataset[TextSplit | TaggedSplit], tokenizer: PreTrainedTokenizerFast, max_length: int
) -> tuple[Task, Task, Task]:
    """What trains, validates and tests; long texts learn as `data.long_texts` says."""
    kind = TASKS.get(config.task)
    learned_from = [dataset.train, dataset.validation]
    if config.data.long_texts == "windows":
        learned_from = [kind.divide(split, tokenizer, max_length) for split in learned_from]
    train, validation, test = (
        kind(split, tokenizer, max_length, dataset.label_names) for split in (*learned_from, dataset.test)
    )
    return train, validation, test


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def build_model(
    config: Config,
    backbone: Backbone,
    tokenizer: PreTrainedTokenizerFast,
    train: Task,
    label_names: Sequence[str],
    *,
    blank: bool,
) -> LexicalSAE:
    """A model as training begins with it, on the backbone's device; `blank`: without what takes long to find."""
    model = LexicalSAE(
        backbone,
        tokenizer,
        label_names,
        config.model,
        max_length=min(config.data.max_length, backbone.max_length),
        texts=train.encoded,
        senses=choose_senses(config.model, backbone, tokenizer, train.encoded, config.seed),
        blank=blank,
        task=config.task,
    )
    model.to(next(backbone.parameters()).device)
    if not blank:
        calibrate(model, train, config)
    return model


def untrained_model(config: Config, train: Task, label_names: Sequence[str], device: torch.device) -> LexicalSAE:
    """A model as training begins with it, built anew; whoever draws random numbers draws on as if it had not been."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        backbone, tokenizer = load_backbone(config.model.name, revision=config.model.revision)
        return build_model(config, backbone.to(device), tokenizer, train, label_names, blank=False).eval()


def overview(dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """How many texts train, validate and test, and what their labels are."""
    sizes = {"training": dataset.train, "validation": dataset.validation, "test": dataset.test}
    counted = ", ".join(f"{len(split)} {name}" for name, split in sizes.items())
    return f"{counted} {dataset.train.unit}s; labels: {one_line(listed(dataset.label_names))}"


def calibrate(model: LexicalSAE, train: Task, config: Config) -> None:
    """Start the thresholds from a seeded sample of the training texts."""
    generator = np.random.default_rng(config.seed)
    rows = generator.permutation(len(train))[:CALIBRATION_ROWS]
    model.calibrate(train.calibration(rows, model.device, generator), config.training.active_target)


def _notes(
    config: Config,
    train: Task,
    test: Task,
    backbone: Backbone,
    max_length: int,
    steps: int,
) -> list[str]:
    """What was found missing or had to be cut, and a training too short for its settings."""
    notes = [backbone.notice] if backbone.notice else []
    if config.training.lr_warmup_steps > steps / 2:
        notes.append(
            f"The learning rate rises over {config.training.lr_warmup_steps} steps (training.lr_warmup_steps), and the "
            f"training has {steps}: train longer, such as with --set training.epochs={_enough(config, steps)}."
        )
    if max_length < config.data.max_length:
        notes.append(f"data.max_length is {config.data.max_length}, but the backbone reads {max_length} tokens.")
    return [*notes, *train.cut_note("training", max_length), *test.cut_note("test", max_length)]


def _enough(config: Config, steps: int) -> int:
    """Epochs in which the learning rate has risen after a quarter of the steps."""
    return math.ceil(4 * config.training.lr_warmup_steps / max(1, steps) * config.training.epochs)
