"""From a config to a trained, saved, measured and explained model; every command goes through here."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from rich.console import Console
from torch import Tensor

from splade.attribution.explanation import Explanation
from splade.attribution.tagged import ExplainedText
from splade.config.load import config_to_yaml
from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TaggedSplit, TextSplit
from splade.errors import listed
from splade.evaluation.dense_baseline import DenseClassifier
from splade.evaluation.entities import entity_scores
from splade.evaluation.mechanistic import all_logits, evaluate, lexicon_meter
from splade.evaluation.per_class import class_scores
from splade.evaluation.sequence_mechanistic import evaluate_tagging
from splade.inference import explain_batch
from splade.models.backbone import Backbone
from splade.models.lexical_sae import CALIBRATION_ROWS, LexicalSAE
from splade.models.saving import library_versions
from splade.models.sense_choice import choose_senses
from splade.reporting.model_card import write_model_card
from splade.reporting.report import write_report
from splade.run_folder import (
    begin_anew,
    check_output_dir,
    file_hashes,
    fingerprint,
    from_anywhere,
    held,
    remove_checkpoints,
    remove_other_results,
    run_id,
    write_config,
)
from splade.tagging import explain_tags_batch
from splade.tasks import TASKS, ClassificationTask, TaggingTask, Task
from splade.training.loop import Trainer, TrainingOutcome
from splade.training.memory import choose_batch_size
from splade.training.mlm import mlm_warmup
from splade.training.recipes import RECIPES, resolved, without_effect
from splade.training.selection import asks_for_sparsity
from splade.utils.atomic import write_json
from splade.utils.cuda import peak_rss_mb, seed_everything
from splade.utils.one_line import one_line
from splade.utils.progress import progress_bar


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


@dataclass(frozen=True)
class TrainedRun(PreparedRun):
    """A training that is finished, with all it was made of."""

    outcome: TrainingOutcome


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
    decided = (f"Data: {dataset.source}", *(f"Note: {note}" for note in early), f"Split: {overview(dataset)}")
    for line in (*decided, f"Output: {config.output_dir}"):  # before hours of training
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    seed_everything(config.seed)
    backbone, tokenizer = Backbone.from_name(config.model.name, revision=config.model.revision)
    if backbone.notice:
        console.print(backbone.notice, highlight=False, markup=False, soft_wrap=True)
    max_length = min(config.data.max_length, backbone.max_length)
    train, validation, test = (
        TASKS.get(config.task)(split, tokenizer, max_length, dataset.label_names)
        for split in (dataset.train, dataset.validation, dataset.test)
    )
    batch_size = config.training.batch_size or choose_batch_size(backbone, max_length)
    backbone.to(accelerator.device)
    if not config.model.train_embeddings:
        backbone.freeze_embeddings()
    warm = config.training.mlm_warmup_steps > 0 and not dry_run
    opening = mlm_warmup(backbone, tokenizer, train, config, batch_size) if warm else []
    model = LexicalSAE(
        backbone,
        tokenizer,
        dataset.label_names,
        config.model,
        max_length=max_length,
        texts=train.encoded,
        senses=choose_senses(config.model, backbone, tokenizer, train.encoded, config.seed),
        blank=dry_run,
        task=config.task,
    )
    model.to(accelerator.device)
    if not dry_run:
        calibrate(model, train, config)
    lexicon_meter(model, config.evaluation)  # a wrong lexicon must not come to light after an hour of training
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
    outcome = run.trainer.run(resume)
    if main:
        remove_other_results(folder, fingerprint(config, run.dataset))
        write_config(config)
        run.model.record = training_record(config, run.dataset)
        run.model.save_pretrained(folder / "model")
    run.accelerator.wait_for_everyone()
    if not outcome.satisfied:
        asked, advice = "cross-entropy", "Train longer"
        if asks_for_sparsity(RECIPES.get(config.training.recipe), config.training):
            asked, advice = "cross-entropy and sparsity", "Train longer, or raise training.active_target"
        run.notes.append(
            f"No validated checkpoint satisfied the constraint on {asked}; the most accurate one of the circuit phase "
            f"was kept. {advice}."
        )
    return TrainedRun(**vars(run), outcome=outcome)


def training_record(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> dict[str, Any]:
    """What is saved beside a trained model, so that it can be measured again and texts like its own be read."""
    experiment = {key: value for key, value in asdict(from_anywhere(config)).items() if key != "output_dir"}
    experiment["data"] |= dataset.columns  # those that were found, so that they need not be again
    return {
        "dataset": dataset.name,
        "seed": config.seed,
        "numbered_labels": dataset.numbered,
        "data_files": file_hashes(config.data),
        "experiment": experiment,
    }


def run_experiment(
    config: Config, *, resume: bool = False, overwrite: bool = False, console: Console | None = None
) -> dict[str, Any]:
    """Train, evaluate, compare with the dense baseline if asked to, and leave results, report and model card."""
    with held(Path(config.output_dir)):
        return _run_experiment(config, resume=resume, overwrite=overwrite, console=console or Console(quiet=True))


def _run_experiment(config: Config, *, resume: bool, overwrite: bool, console: Console) -> dict[str, Any]:
    run = _train(config, resume=resume, overwrite=overwrite, console=console)
    config = run.config
    peak = peak_rss_mb()
    # Before the other processes leave: all of them train it.
    dense = train_dense_baseline(run, resume=resume, console=console) if config.evaluation.dense_baseline else None
    if not run.accelerator.is_main_process:
        return {}
    began = time.perf_counter()
    folder = Path(config.output_dir)
    frozen, _ = Backbone.from_name(config.model.name, revision=config.model.revision)
    results = evaluate_model(run.model, run.test, config, frozen=frozen.to(run.model.device), console=console)
    evaluated = time.perf_counter()
    results = {
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
        **results,
        "seconds": {
            "train": run.outcome.seconds,
            "setup": run.seconds,
            "eval": evaluated - began,
            "per_step": run.outcome.seconds_per_step,
        },
        "peak_rss_mb": peak,
        "labels": run.model.labels,
        "samples": {name: len(getattr(run.dataset, name)) for name in ("train", "validation", "test")},
        "training": {
            "steps": run.outcome.steps,
            "epochs": config.training.epochs,
            "examples": len(run.dataset.train),
            "batch_size": run.batch_size,
            "learning_rate": run.outcome.learning_rate,
            "truncated": run.train.encoded.truncated,
            "active_target": config.training.active_target,
            "stopped_early": run.outcome.stopped_early,
        },
        "constraint": {"tau": run.outcome.tau, "satisfied": run.outcome.satisfied, "step": run.outcome.kept_step},
        "validation": run.outcome.validation,
        "notes": [*run.notes, *results["findings"]],
    }
    if dense is not None:
        results |= {"dense": dense, f"dense_{run.test.figure}": dense[run.test.figure]}
    write_outputs(folder, config, results, run.model, run.test)
    return results


def measure_again(config: Config, *, console: Console) -> dict[str, Any]:
    """Measure the finished run in `output_dir` anew, as other settings of `evaluation` ask for; nothing is trained.

    What its training left in the results is kept, the figures of the dense baseline too: no setting changes them.
    """
    with held(Path(config.output_dir)):
        return _measure_again(resolved(config), console)


def _measure_again(config: Config, console: Console) -> dict[str, Any]:
    began = time.perf_counter()
    folder = Path(config.output_dir)
    earlier = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    dataset = load_dataset(config.data, config.seed, config.task)
    model = LexicalSAE.from_pretrained(folder / "model")
    test = TASKS.get(config.task)(dataset.test, model.tokenizer, model.max_length, model.labels)
    frozen, _ = Backbone.from_name(config.model.name, revision=config.model.revision)
    found = evaluate_model(model, test, config, frozen=frozen.to(model.device), console=console)
    seconds = earlier["seconds"] | {"eval": time.perf_counter() - began}
    notes = [note for note in earlier["notes"] if note not in earlier.get("findings", [])] + found["findings"]
    results = earlier | found | {"fingerprint": fingerprint(config, dataset), "seconds": seconds, "notes": notes}
    write_outputs(folder, config, results, model, test)
    write_config(config)  # last: until then it says how the results that are there were measured
    return results


def evaluate_model(
    model: LexicalSAE,
    task: Task,
    config: Config,
    *,
    frozen: Backbone | None,
    console: Console,
) -> dict[str, Any]:
    """The figures of `evaluate`, or `evaluate_tagging`, as the JSON of `results.json`."""
    measure: Callable[..., Any] = evaluate_tagging if isinstance(task, TaggingTask) else evaluate
    with progress_bar(console, "evaluating", len(task)) as advance:
        evaluation = measure(
            model,
            task,
            config.evaluation,
            share=config.training.sparsity_target,
            frozen=frozen,
            seed=config.seed,
            advance=advance,
        )
    results = asdict(evaluation)
    for name in results:
        if name.startswith(("completeness", "topk")):  # in JSON a key is a text
            results[name] = {f"{size:g}": figures for size, figures in results[name].items()}
    if results["grounding"]["lexicon"] is None:
        del results["grounding"]["lexicon"]
    return results | {"vocab_size": model.vocab_size}


def dense_trainer(run: PreparedRun, folder: Path, console: Console | None = None) -> Trainer:
    """Of the same backbone, data, batches and steps, the masked-LM warm-up among them, with an ordinary head."""
    config = run.config
    seed_everything(config.seed)
    backbone, tokenizer = Backbone.from_name(config.model.name, revision=config.model.revision)
    backbone.to(run.accelerator.device)
    if not config.model.train_embeddings:
        backbone.freeze_embeddings()
    warm = config.training.mlm_warmup_steps > 0
    opening = mlm_warmup(backbone, tokenizer, run.train, config, run.batch_size) if warm else []
    model = DenseClassifier(backbone, run.dataset.label_names, config.model.hidden_size, config.model.dtype)
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


def train_dense_baseline(run: TrainedRun, *, resume: bool, console: Console) -> dict[str, Any]:
    """Train and measure what `dense_trainer` is of."""
    folder = Path(run.config.output_dir) / "dense"
    trainer = dense_trainer(run, folder, console)
    outcome = trainer.run(resume and (folder / "checkpoints").exists())
    logits = all_logits(trainer.model, run.test, run.config.evaluation.batch_size)
    if run.accelerator.is_main_process:
        remove_checkpoints(folder)
    return {
        **_scores(run.test, logits, run.model.labels),
        "seconds": outcome.seconds,
        "seconds_per_step": outcome.seconds_per_step,
        "step": outcome.kept_step,
    }


def _scores(task: Task, logits: Tensor, labels: Sequence[str]) -> dict[str, Any]:
    """What is measured of any model by its logits (N, C) on all of a task's rows; `labels` (C,)."""
    if isinstance(task, TaggingTask):
        return asdict(entity_scores(task, task.decode(logits)))
    return asdict(class_scores(labels, task.labels, logits.argmax(-1).numpy()))


def write_outputs(folder: Path, config: Config, results: dict[str, Any], model: LexicalSAE, test: Task) -> None:
    """`results.json`, `report.html` and the model card, beside what the training left."""
    folder.mkdir(parents=True, exist_ok=True)
    explanations = _explained(model, test, config)
    history_file = folder / "metrics.jsonl"
    history = [json.loads(line) for line in history_file.read_text().splitlines()] if history_file.exists() else []
    write_report(folder / "report.html", results, history, explanations)
    write_model_card(folder / "README.md", results, config_to_yaml(config))
    write_json(folder / "results.json", results)  # last and whole: where it is, the run is finished


def _explained(model: LexicalSAE, test: Task, config: Config) -> Sequence[Explanation | ExplainedText]:
    """A seeded sample of the test texts, explained."""
    split = test.split
    rows = np.random.default_rng(config.seed).permutation(len(split))[: config.evaluation.explain_samples]
    if isinstance(split, TaggedSplit):
        return explain_tags_batch(model, [split.sentences[row] for row in np.sort(rows)])
    return explain_batch(model, [split.texts[row] for row in np.sort(rows)])


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
    return [*notes, *cut_notes("training", train, max_length), *cut_notes("test", test, max_length)]


def _enough(config: Config, steps: int) -> int:
    """Epochs in which the learning rate has risen after a quarter of the steps."""
    return math.ceil(4 * config.training.lr_warmup_steps / max(1, steps) * config.training.epochs)


def cut_notes(name: str, task: Task, max_length: int) -> list[str]:
    """A sentence on the texts (words, in tagging) of a split that were cut, if any."""
    whole = f"{len(task):,} {name} texts" if isinstance(task, ClassificationTask) else f"the {name} words"
    return [f"{cut:,} of {whole} were cut to {max_length} tokens."] if (cut := task.encoded.truncated) else []
