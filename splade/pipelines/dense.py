"""The dense baseline of a run: the same backbone under an ordinary head, trained and measured beside it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from splade.evaluation.run import all_logits
from splade.evaluation.scores import score_decisions
from splade.models.dense import DenseClassifier
from splade.models.starting_point import load_backbone
from splade.pipelines.outputs import training_record
from splade.pipelines.preparation import PreparedRun
from splade.run_folder import DENSE, remove_checkpoints, run_id
from splade.training.loop import Trainer
from splade.training.mlm import mlm_warmup
from splade.utils.cuda import seed_everything


def dense_trainer(run: PreparedRun, folder: Path, console: Console | None = None) -> Trainer:
    """The training of an ordinary head on the same backbone, data, batches and steps, masked-LM warm-up included."""
    config = run.config
    seed_everything(config.seed)
    backbone, tokenizer = load_backbone(config.model.name, revision=config.model.revision)
    backbone.to(run.accelerator.device)
    if not config.model.train_embeddings:
        backbone.freeze_embeddings()
    warm = config.training.mlm_warmup_steps > 0
    opening = mlm_warmup(backbone, tokenizer, run.train, config, run.batch_size) if warm else []
    model = DenseClassifier(
        backbone,
        tokenizer,
        run.dataset.label_names,
        config.model,
        max_length=run.model.max_length,
        task=run.model.task,
    )
    return Trainer(
        model,
        run.train,
        run.validation,
        dataclasses.replace(config.training, recipe="baseline"),
        batch_size=run.batch_size,
        seed=config.seed,
        folder=folder,
        run_id=run_id(config, run.dataset),
        accelerator=run.accelerator,
        console=console,
        title="dense baseline",
        opening=opening,
    )


def train_dense_baseline(run: PreparedRun, *, resume: bool, console: Console) -> dict[str, Any]:
    """Train and measure the dense baseline of a run, and save it to `output_dir/dense/model`."""
    folder = Path(run.config.output_dir) / DENSE
    trainer = dense_trainer(run, folder, console)
    outcome = trainer.run(resume and (folder / "checkpoints").exists())
    model = cast(DenseClassifier, trainer.model)
    logits = all_logits(model, run.test, run.config.evaluation.batch_size)
    if run.accelerator.is_main_process:
        model.save_pretrained(folder / "model", **training_record(run.config, run.dataset))
        remove_checkpoints(folder)
    return {
        **score_decisions(run.test, run.model.labels, logits),
        "seconds": outcome.seconds,
        "seconds_per_step": outcome.seconds_per_step,
        "step": outcome.kept_step,
    }
