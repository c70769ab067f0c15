"""A saved model, measured: by `evaluate_saved`, and by which settings, wherever they come from."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

import splade
from splade.config.load import load_config
from splade.config.named import named_by_overrides, named_in_file
from splade.config.schema import Config
from splade.data.loader import load_dataset, load_test_split
from splade.data.types import Dataset
from splade.errors import BackboneError, ConfigError, DataError
from splade.evaluation.measure import Measure, References
from splade.evaluation.memory import Memory, remove_measured
from splade.evaluation.run import chosen_measures
from splade.models.backbone import Backbone
from splade.models.folder import file_hash, saved_hash
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines.measurement import data_hash, evaluate_model, frozen_backbone, saved_dense
from splade.pipelines.preparation import untrained_model
from splade.task_description import describe
from splade.tasks import TASKS, Task
from splade.utils.cache import cache_folder

_TRAINED = "the model is trained and cannot change by it"
_NO_TRAINING = "nothing is trained, and the test texts do not depend on it"

FOLLOWED: dict[str, str | None] = {
    "experiment_name": "it is the title of a report, and none is written",
    "task": "the model has a task of its own",
    "output_dir": "the figures are printed, and written where --output says",
    "seed": None,  # of the random tokens and pairs that figures are compared with
    "data": None,
    "data.train_samples": _NO_TRAINING,
    "data.validation_samples": _NO_TRAINING,
    "model": _TRAINED,
    "model.topk_per_position": None,
    "training": _TRAINED,
    "training.sparsity_target": None,
    "evaluation": None,
    "evaluation.dense_baseline": _NO_TRAINING,
    "evaluation.explain_samples": "it is for the report, and none is written",
    "study": "one model is measured, and no study is made",
    "surgery": "one model is measured, and no study is made",
}
"""Whether a measurement follows a setting, or all of a section that are not named themselves: None, or why not."""

FILES = ("train_file", "validation_file", "test_file")
SPLITS = ("train_split", "validation_split", "test_split")
SETS = ("dataset_name", "dataset_config", "root")
"""Settings of `data` whose place one file takes."""
WRITTEN = ("text_column", "label_column", "tokens_column", "tags_column", "delimiter", "encoding")
"""Settings of `data` that say how files are written."""


def evaluate_saved(
    folder: Path,
    *,
    config: Path | None = None,
    overrides: Sequence[str] = (),
    file: Path | None = None,
    anew: bool = False,
    console: Console | None = None,
) -> dict[str, Any]:
    """The figures of the model in a folder, as the JSON of `results.json`, on the test split of its training.

    `config` and `overrides` change settings of the data and of the measurement, `file` is test data of one's own. What
    was measured before of the same model, data and settings is remembered, unless it is to be measured `anew`; figures
    of measures that were not asked for are left out.
    """
    model = LexicalSAE.from_pretrained(folder)
    settings, max_length = measurement_settings(model, folder, config, overrides, file)
    numbered = model.record.get("numbered_labels") is True
    test = load_test_split(settings.data, settings.seed, model.labels, model.task, numbered)
    task = TASKS.get(model.task)(test, model.tokenizer, max_length, model.labels)
    again = chosen_measures(settings.evaluation, task.name) if anew else []
    left_out: list[str] = []
    results = evaluate_model(
        model,
        task,
        settings,
        references=_references(folder, model, settings, left_out),
        console=console or Console(quiet=True),
        memory=_memory(folder, model, task, max_length, again),
        only_chosen=True,
    )
    notes = [*test.notes, *task.cut_note("test", max_length), *left_out]
    return results | {"task": model.task, "notes": [*notes, *results["findings"]]}


def _references(folder: Path, model: LexicalSAE, settings: Config, left_out: list[str]) -> References:
    """What the model is compared with, as far as it is still at hand; what is not is said in `left_out`."""

    def frozen() -> Backbone | None:
        try:
            return frozen_backbone(replace(settings, task=model.task, model=model.config), model.device)
        except BackboneError as error:  # a model must be measurable without the hub it came from
            left_out.append(f"grounding.frozen_share was left out: {error}")
            return None

    @cache
    def dataset() -> Dataset[Any] | None:
        record = model.record.get("experiment")
        if record is None:
            left_out.append("What is fitted to training texts was left out: the model does not say which it had.")
            return None
        trained = load_config(None, [], record)
        try:
            return load_dataset(trained.data, trained.seed, model.task)
        except DataError as error:
            left_out.append(f"What is fitted to training texts was left out: {error}")
            return None

    def read(part: str) -> Task | None:
        found = dataset()
        if found is None:
            return None
        task: Task = TASKS.get(model.task)(getattr(found, part), model.tokenizer, model.max_length, model.labels)
        return task

    def untrained() -> LexicalSAE | None:
        if (texts := references.training) is None:
            return None
        try:
            trained = load_config(None, [], model.record.get("experiment"))
            return untrained_model(trained, texts, model.labels, model.device)
        except BackboneError as error:
            left_out.append(f"The model before its training was left out: {error}")
            return None

    references = References(
        frozen,
        lambda: saved_dense(folder.parent, model),
        lambda: read("train"),
        untrained,
        lambda: read("validation"),
    )
    return references


def _memory(
    folder: Path, model: LexicalSAE, task: Task, max_length: int, again: Sequence[type[Measure[Any]]]
) -> Memory | None:
    """Where what is measured of a saved model is remembered: a folder a model and split, of the user's cache.

    What some measures have left there is gone, whatever the settings, since they are to be taken `again`.
    """
    saved, data = saved_hash(folder), data_hash(task, max_length)
    place = cache_folder() / "measures" / f"{saved[:16]}-{data[:16]}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:  # a user without a home is measured for all the same
        return None
    remove_measured(place, [measure.name for measure in again])
    measured = json.dumps(
        [saved, model.topk_per_position, splade.__version__]
    )  # what is saved may be capped when asked
    return Memory(place, measured, data)


def why_not_followed(setting: str) -> str | None:
    """Why a measurement does not follow a setting; None: it does."""
    while setting not in FOLLOWED and "." in setting:
        setting = setting.rpartition(".")[0]
    return FOLLOWED.get(setting)


def measurement_settings(
    model: LexicalSAE, folder: Path, config: Path | None, overrides: Sequence[str], file: Path | None
) -> tuple[Config, int]:
    """The settings to measure a model of `folder` by, and how many tokens it is to read; it is capped as they ask.

    What neither the settings file nor the overrides name is as in the training. `file` is all the data there is.
    """
    training = model.record.get("experiment")
    if config is None and training is None:
        raise ConfigError(f"{folder} does not say which data it was trained on; name a settings file with --config.")
    settings = load_config(config, [*_only_this(file), *overrides], training)
    set_now = named_by_overrides(overrides)
    _check_followed(set_now, file)
    if "data.dataset_name" in set_now and settings.data.dataset_name is not None:
        # A set named now takes the place of files named before, and of how they were written.
        before: dict[str, Any] = {key: None for key in (*FILES, *WRITTEN) if f"data.{key}" not in set_now}
        settings = replace(settings, data=replace(settings.data, **before))
    if training is not None:
        _check_files(settings, training)
        _check_unchanged(settings, training, model.record.get("data_files") or {})
    named = {*set_now, *named_in_file(config)}
    if "model.topk_per_position" in named:
        task = describe(model.task)
        if settings.model.topk_per_position and "model.topk_per_position" in task.idle_settings:
            raise ConfigError(f"model.topk_per_position was given, but it is for taggers, and the model {task.does}.")
        model.topk_per_position = min(settings.model.topk_per_position, model.vocab_size)  # more than all are all
    length = settings.data.max_length if "data.max_length" in named else model.max_length
    if "data.max_length" in set_now and length > model.max_length:
        raise ConfigError(f"data.max_length is {length}, but the model reads {model.max_length} tokens; give fewer.")
    return settings, min(length, model.max_length)


def _check_followed(settings: Sequence[str], file: Path | None) -> None:
    for key in settings:
        if reason := why_not_followed(key):
            raise ConfigError(f"--set {key} was given, but {reason}; leave it out.")
        if file is not None and key.removeprefix("data.") in (*SETS, *FILES, *SPLITS):
            raise ConfigError(f"Both --file and --set {key} were given, and each names the data; keep one of them.")


def _only_this(file: Path | None) -> list[str]:
    """Settings by which one file is all the data there is; as the test split, it is the only one that is read."""
    if file is None:
        return []
    nothing = ("dataset_name", "validation_file", *SPLITS)
    return [
        *(f"data.{key}=null" for key in nothing),
        *(f"data.{key}={json.dumps(str(file))}" for key in ("train_file", "test_file")),
        "data.test_samples=-1",
    ]


def _check_unchanged(settings: Config, training: dict[str, Any], hashes: dict[str, str]) -> None:
    """Refuse to take a part of the training texts for the test once they are others: it would be another part."""
    path, before = settings.data.train_file, hashes.get("train_file")
    carved = settings.data.test_file is None and path is not None and path == training["data"]["train_file"]
    if carved and before is not None and os.path.isfile(str(path)) and file_hash(Path(str(path))) != before:
        raise DataError(
            f"{path} has changed since the model was trained on a part of it, so that the part held out for the test "
            "is no longer known; name test texts with --file."
        )


def _check_files(settings: Config, training: dict[str, Any]) -> None:
    """Refuse files of the training that are not there any more, and say what can be done about it."""
    needed = ("test_file",) if settings.data.test_file else ("train_file", "validation_file")
    for key in needed:
        path = getattr(settings.data, key)
        if path is None or path != training["data"][key] or os.path.exists(path):
            continue
        where = "" if Path(path).is_absolute() else ", from a folder that its record does not name"
        raise DataError(
            f"The model was trained with data.{key} {path}{where}, and there is no such file; name it with "
            f"--set data.{key}=…, or other test data with --file."
        )
