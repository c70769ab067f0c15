"""A whole experiment: train, save, measure, compare, report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from splade.config.schema import Config
from splade.evaluation.measure import References
from splade.models.saving import library_versions
from splade.pipelines.dense import train_dense_baseline
from splade.pipelines.measurement import evaluate_model, frozen_backbone, run_memory, saved_dense
from splade.pipelines.outputs import training_record, write_outputs
from splade.pipelines.preparation import PreparedRun, prepare, untrained_model
from splade.run_folder import begin_anew, fingerprint, held, remove_other_results, write_config
from splade.tasks import TASKS
from splade.training.loop import TrainingOutcome
from splade.training.recipes import RECIPES
from splade.training.selection import asks_for_sparsity
from splade.utils.cuda import peak_rss_mb


@dataclass(frozen=True)
class TrainedRun:
    """A training that is finished, with all it was made of."""

    prepared: PreparedRun
    outcome: TrainingOutcome
    model_hash: str
    """The hash of the model saved; empty in all processes but the main one."""


def setup_and_train(
    config: Config, *, resume: bool = False, overwrite: bool = False, console: Console | None = None
) -> TrainedRun:
    """Load data and backbone, train, and save the model to `output_dir/model`; see `prepare`."""
    with held(Path(config.output_dir)):
        return _train(config, resume=resume, overwrite=overwrite, console=console)


def _train(config: Config, *, resume: bool, overwrite: bool, console: Console | None) -> TrainedRun:
    run = prepare(config, resume=resume, overwrite=overwrite, console=console)
    config = run.config  # with what the recipe fills in
    folder, main = Path(config.output_dir), run.accelerator.is_main_process
    if main and not resume:  # only now: whatever could be wrong has been checked
        begin_anew(folder)
        if not (folder / "results.json").exists():  # as long as those are another run's, so are the settings
            write_config(config)
    outcome, model_hash = run.trainer.run(resume), ""
    if main:
        remove_other_results(folder, fingerprint(config, run.dataset))
        write_config(config)
        run.model.record = training_record(config, run.dataset)
        model_hash = run.model.save_pretrained(folder / "model")
    run.accelerator.wait_for_everyone()
    if not outcome.satisfied:
        asked, advice = "cross-entropy", "Train longer"
        if asks_for_sparsity(RECIPES.get(config.training.recipe), config.training):
            asked, advice = "cross-entropy and sparsity", "Train longer, or raise training.active_target"
        but = f", though with {' and '.join(outcome.lacking)}" if outcome.lacking else ""
        run.notes.append(
            f"No validated weights satisfied the constraint on {asked}; those of the best {run.validation.figure} in "
            f"the circuit phase were kept{but}. {advice}."
        )
    return TrainedRun(run, outcome, model_hash)


def run_experiment(
    config: Config, *, resume: bool = False, overwrite: bool = False, console: Console | None = None
) -> dict[str, Any]:
    """Train, evaluate, compare with the dense baseline if asked to, and leave results, report and model card."""
    with held(Path(config.output_dir)):
        return _run_experiment(config, resume=resume, overwrite=overwrite, console=console or Console(quiet=True))


def _run_experiment(config: Config, *, resume: bool, overwrite: bool, console: Console) -> dict[str, Any]:
    trained = _train(config, resume=resume, overwrite=overwrite, console=console)
    run, config = trained.prepared, trained.prepared.config
    peak = peak_rss_mb()
    # Before the other processes leave: all of them train it.
    dense = train_dense_baseline(run, resume=resume, console=console) if config.evaluation.dense_baseline else None
    if not run.accelerator.is_main_process:
        return {}
    began = time.perf_counter()
    references = References(
        load_frozen=lambda: frozen_backbone(config, run.model.device),
        load_dense=lambda: saved_dense(Path(config.output_dir), run.model),
        load_training=lambda: run.train,
        load_untrained=lambda: untrained_model(config, run.train, run.model.labels, run.model.device),
        load_validation=lambda: TASKS.get(config.task)(  # whole, also where long ones validate in windows
            run.dataset.validation, run.model.tokenizer, run.model.max_length, run.model.labels
        ),
    )
    memory = run_memory(config, trained.model_hash, run.test)
    measured = evaluate_model(run.model, run.test, config, references=references, console=console, memory=memory)
    results = _results(trained, measured, eval_seconds=time.perf_counter() - began, peak_mb=peak)
    if dense is not None:
        results |= {"dense": dense, f"dense_{run.test.figure}": dense[run.test.figure]}
    write_outputs(Path(config.output_dir), config, results, run.model, run.test)
    return results


def _results(trained: TrainedRun, measured: dict[str, Any], *, eval_seconds: float, peak_mb: float) -> dict[str, Any]:
    """`results.json`: what was run, what was measured, and how the training went."""
    run, outcome, config = trained.prepared, trained.outcome, trained.prepared.config
    return {
        "experiment_name": config.experiment_name,
        "task": config.task,
        "dataset": run.dataset.name,
        "dataset_source": run.dataset.source,
        "backbone": config.model.name,
        "recipe": config.training.recipe,
        "gate": config.model.gate,
        "support": "+".join(config.model.support),
        "seed": config.seed,
        "fingerprint": fingerprint(config, run.dataset),
        "versions": library_versions(),
        **measured,
        "seconds": {
            "train": outcome.seconds,
            "setup": run.seconds,
            "eval": eval_seconds,
            "per_step": outcome.seconds_per_step,
        },
        "peak_rss_mb": peak_mb,
        "labels": run.model.labels,
        "samples": {name: len(getattr(run.dataset, name)) for name in ("train", "validation", "test")},
        "training": {
            "steps": outcome.steps,
            "epochs": config.training.epochs,
            "examples": len(run.dataset.train),
            "batch_size": run.batch_size,
            "learning_rate": outcome.learning_rate,
            "truncated": run.train.encoded.truncated,
            "active_target": config.training.active_target,
            "stopped_early": outcome.stopped_early,
        },
        "constraint": {"tau": outcome.tau, "satisfied": outcome.satisfied, "step": outcome.kept_step},
        "validation": outcome.validation,
        "notes": [*run.notes, *measured["findings"]],
    }
