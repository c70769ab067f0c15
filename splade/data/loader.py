"""One call from settings to a data set: find the source, give its splits their parts, number the labels, sample."""

from __future__ import annotations

import numpy as np

from splade.config.schema import DataConfig, Task
from splade.data.columns import SHOWN_LABELS, distinct_labels, encode_labels
from splade.data.files import files_source
from splade.data.hub import hub_source
from splade.data.packaged import packaged_source
from splade.data.root import root_source
from splade.data.splits import TEST_SEED, Roles, assign_roles, carve, limit
from splade.data.types import Dataset, Source, TextSplit
from splade.errors import DataError


def load_dataset(config: DataConfig, seed: int, task: Task = "classification") -> Dataset:
    """Load the set that ``config`` names: own files, else the data root, else a package, else the Hub."""
    if task != "classification":
        raise DataError(f"Sets for {task} cannot be read yet.")
    source = _find_source(config)
    roles = assign_roles(config, list(source.splits), source.roles, f"The set {source.name}")
    train = source.splits[roles.train]()
    names = list(config.labels or source.label_names or distinct_labels(train.labels))
    pool = encode_labels(train, names)
    if len(set(pool.labels)) < 2:
        raise DataError(
            f"{train.origin} has texts of {len(set(pool.labels))} class, but a classifier needs two or more; "
            "check data.label_column."
        )
    notes = list(source.notes)
    parts, carved = _divide(source, roles, pool, names, config.validation_fraction, seed)
    notes += carved
    for part, samples in (
        ("train", config.train_samples),
        ("validation", config.validation_samples),
        ("test", config.test_samples),
    ):
        if samples > len(parts[part]):
            notes.append(f"data.{part}_samples asks for {samples} texts, but there are {len(parts[part])}.")
        parts[part] = limit(parts[part], samples, seed)
    for part, split in parts.items():
        absent = [name for number, name in enumerate(names) if number not in set(split.labels)]
        if part == "train" and len(names) - len(absent) < 2:
            raise DataError(
                f"The {len(split)} training text(s) left by the settings have {len(names) - len(absent)} class, but a "
                "classifier needs two or more; raise data.train_samples."
            )
        if absent:
            shown = ", ".join(absent[:SHOWN_LABELS]) + (", ..." if len(absent) > SHOWN_LABELS else "")
            notes.append(f"No {part} text has the label {shown}.")
    shared = len(set(parts["train"].texts) & set(parts["test"].texts))
    if shared:
        notes.append(f"{shared} different texts occur both in training and in test, as in the source.")
    return Dataset(source.name, source.description, names, parts["train"], parts["validation"], parts["test"], notes)


def load_test_split(config: DataConfig, seed: int, labels: list[str]) -> TextSplit:
    """The test split alone, for a model with these labels; the training texts are read only if it is a part of them."""
    source = _find_source(config)
    roles = assign_roles(config, list(source.splits), source.roles, f"The set {source.name}")
    if roles.test is None:
        dataset = load_dataset(config, seed)
        names, test = dataset.label_names, dataset.test
    else:
        names = list(config.labels or source.label_names or labels)
        test = limit(encode_labels(source.splits[roles.test](), names), config.test_samples, seed)
    if names != labels:
        raise DataError(
            f"The labels of the data are {', '.join(names)}, but the model was trained on {', '.join(labels)}; "
            "evaluate on data with the same labels (data.labels sets their order)."
        )
    return test


def _find_source(config: DataConfig) -> Source:
    if config.train_file is not None:
        return files_source(config)
    return root_source(config) or packaged_source(str(config.dataset_name)) or hub_source(config)


def _divide(
    source: Source, roles: Roles, pool: TextSplit, names: list[str], fraction: float, seed: int
) -> tuple[dict[str, TextSplit], list[str]]:
    """Read the validation and test splits; what is missing is carved from the training texts, before any sampling."""
    parts: dict[str, TextSplit] = {}
    notes: list[str] = []
    rows = np.arange(len(pool))
    # Test first: its rows must not depend on the run's seed, which chooses the validation rows.
    for part, split, part_seed in (("test", roles.test, TEST_SEED), ("validation", roles.validation, seed)):
        if split is None:
            rows, held_out = carve(rows, pool, fraction, part_seed)
            parts[part] = pool.take(held_out)
            notes.append(f"{len(held_out)} training texts were held out for {part}.")
            continue
        parts[part] = encode_labels(source.splits[split](), names)
        if split != part:
            notes.append(f"The split '{split}' is used for {part}.")
    parts["train"] = pool.take(rows) if len(rows) < len(pool) else pool
    return parts, notes
