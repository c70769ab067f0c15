"""One call from settings to a data set: find the source, give its splits their parts, number the labels, sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from splade.config.schema import DataConfig, Task
from splade.data.column_choice import unusual_columns
from splade.data.files import files_source
from splade.data.hub import hub_source
from splade.data.packaged import packaged_source
from splade.data.root import root_source
from splade.data.splits import TEST_SEED, Roles, assign_roles, carve, limit
from splade.data.tasks import TASK_DATA, Labels, TaskData
from splade.data.types import Dataset, RawSplit, RawTags, Source, Split, TaggedSplit, TextSplit
from splade.errors import DataError, OtherTaskError, UnknownLabelError, listed


@overload
def load_dataset(config: DataConfig, seed: int, task: Literal["classification"] = ...) -> Dataset[TextSplit]: ...


@overload
def load_dataset(config: DataConfig, seed: int, task: Literal["tagging"]) -> Dataset[TaggedSplit]: ...


@overload
def load_dataset(config: DataConfig, seed: int, task: Task) -> Dataset[TextSplit | TaggedSplit]: ...


def load_dataset(
    config: DataConfig, seed: int, task: Task = "classification"
) -> Dataset[TextSplit] | Dataset[TaggedSplit]:
    """Load the set that ``config`` names: own files, else the data root, else a package, else the Hub."""
    return _load(config, seed, task, TASK_DATA.get(task))


def _load(config: DataConfig, seed: int, task: Task, data: TaskData) -> Dataset[Any]:
    source = _find_source(config, task)
    config = _with_column_names(config, source)
    roles = assign_roles(config, list(source.splits), source.roles, f"The set {source.name}")
    raw = data.pick(source.splits[roles.train](), config, None)
    labels = data.labels(config.labels or _label_names(source, raw), raw)
    pool = labels.encode(raw)
    if shortage := labels.shortage(pool):
        raise DataError(f"{raw.origin} has {pool.unit}s of {shortage}; check data.{labels.column}.")

    def read(split: str) -> Any:
        return labels.encode(data.pick(source.splits[split](), config, raw.columns))

    parts, notes = _divide(source, roles, pool, read, config.validation_fraction, seed)
    for part, samples, part_seed in (
        ("train", config.train_samples, seed),
        ("validation", config.validation_samples, seed),
        ("test", config.test_samples, TEST_SEED),
    ):
        if samples > len(parts[part]):
            notes.append(f"data.{part}_samples asks for {samples} {pool.unit}s, but there are {len(parts[part])}.")
        parts[part] = limit(parts[part], samples, part_seed)
    notes += [*_absent_labels(parts, labels), *_shared_texts(parts, roles)]
    train, validation, test = parts["train"], parts["validation"], parts["test"]
    notes += data.training_notes(train, labels.names)
    columns = unusual_columns(raw.columns, config)
    return Dataset(
        source.name, source.description, labels.names, train, validation, test, notes, labels.numbered, columns
    )


def _absent_labels(parts: Mapping[str, Split], labels: Labels[Split]) -> Iterator[str]:
    """A sentence on the labels that a split lacks; training texts of one class alone are refused."""
    for part, split in parts.items():
        if part == "train" and (shortage := labels.shortage(split)):
            raise DataError(
                f"The {len(split)} training {split.unit}(s) left by the settings have {shortage}; "
                "raise data.train_samples."
            )
        occurring = labels.occurring(split)
        absent = [name for number, name in enumerate(labels.classes) if number not in occurring]
        if absent:
            yield f"No {part} {split.unit} has the label {listed(absent)}."


def _shared_texts(parts: Mapping[str, Split], roles: Roles) -> Iterator[str]:
    """A sentence on texts that train and are also held out."""
    train = parts["train"]
    for part, in_source in (("validation", roles.validation), ("test", roles.test)):
        if shared := len(set(train.texts) & set(parts[part].texts)):
            why = "as in the source" if in_source else "since too few are different to keep copies together; add some"
            yield f"{shared} different {train.unit}s occur both in training and in {part}, {why}."


@overload
def load_test_split(
    config: DataConfig, seed: int, labels: list[str], task: Literal["classification"] = ..., numbered: bool = ...
) -> TextSplit: ...


@overload
def load_test_split(
    config: DataConfig, seed: int, labels: list[str], task: Literal["tagging"], numbered: bool = ...
) -> TaggedSplit: ...


@overload
def load_test_split(
    config: DataConfig, seed: int, labels: list[str], task: Task, numbered: bool = ...
) -> TextSplit | TaggedSplit: ...


def load_test_split(
    config: DataConfig, seed: int, labels: list[str], task: Task = "classification", numbered: bool = False
) -> TextSplit | TaggedSplit:
    """The test split alone, for a model with these labels; the training texts are read only if it is a part of them.

    ``numbered``: whether the order of the labels was known in training (``Dataset.numbered``), so that numbers in the
    data stand for them.
    """
    try:
        names, test = _test_split(config, seed, labels, task, numbered)
    except OtherTaskError as error:
        raise DataError(
            f"{error.found}; the model was trained for {task}, so name data for that, with --file or --config."
        ) from None
    except UnknownLabelError as error:
        raise DataError(
            f"{error.found}; the model can give no other, so correct the data or leave such rows out.{error.hint}"
        ) from None
    if names == labels:
        return test
    if set(names) != set(labels):
        raise DataError(
            f"The labels of the data are {listed(names)}, but the model was trained on {listed(labels)}; "
            "evaluate on data with the same labels."
        )
    return test.renumbered([labels.index(name) for name in names])  # the data orders the same classes in another way


def _test_split(
    config: DataConfig, seed: int, labels: list[str], task: Task, numbered: bool
) -> tuple[list[str], TextSplit | TaggedSplit]:
    source = _find_source(config, task)
    roles = assign_roles(config, list(source.splits), source.roles, f"The set {source.name}")
    if roles.test is None:
        dataset = load_dataset(config, seed, task)
        return dataset.label_names, dataset.test
    data = TASK_DATA.get(task)
    raw = data.pick(source.splits[roles.test](), _with_column_names(config, source), None)
    given = config.labels or _label_names(source, raw)
    known = data.labels(given, raw) if given else data.labels(labels, raw, numbered)
    return known.names, limit(known.encode(raw), config.test_samples, TEST_SEED)


def _find_source(config: DataConfig, task: Task) -> Source:
    if config.train_file is not None:
        return files_source(config, task)
    return root_source(config, task) or packaged_source(str(config.dataset_name), task) or hub_source(config, task)


def _with_column_names(config: DataConfig, source: Source) -> DataConfig:
    """Settings that name columns as the source does where they name none."""
    names: dict[str, Any] = {key: name for key, name in source.column_names.items() if getattr(config, key) is None}
    return replace(config, **names)


def _label_names(source: Source, raw: RawSplit | RawTags) -> list[str] | None:
    """The classes in the order of their numbers, where the source says it."""
    named = (source.column_labels.get(name) for name in raw.columns.values())
    return source.label_names or next((names for names in named if names), None)


def _divide(
    source: Source, roles: Roles, pool: Split, read: Callable[[str], Split], fraction: float, seed: int
) -> tuple[dict[str, Split], list[str]]:
    """Read the validation and test splits; what is missing is carved from the training texts, before any sampling."""
    parts: dict[str, Split] = {}
    notes = [*source.notes, *pool.notes]
    rows = np.arange(len(pool))
    # Test first: its rows must not depend on the run's seed, which chooses the validation rows.
    for part, split, part_seed in (("test", roles.test, TEST_SEED), ("validation", roles.validation, seed)):
        if split is None:
            rows, held_out = carve(rows, pool, fraction, part_seed)
            parts[part] = pool.take(held_out)
            notes.append(f"{len(held_out)} training {pool.unit}s were held out for {part}.")
            continue
        parts[part] = read(split)
        notes += parts[part].notes
        if split != part:
            notes.append(f"The split '{split}' is used for {part}.")
    parts["train"] = pool.take(rows) if len(rows) < len(pool) else pool
    return parts, notes
