"""Seeded, stratified choices of rows: which validate, which test, which are sampled."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from splade.config.numbers import ALL_ROWS
from splade.config.schema import DataConfig
from splade.data.types import RawSplit, Split, TaggedSplit, TextSplit
from splade.errors import DataError

# Test texts are carved (where no test split exists) and sampled with this seed, not the run's, so that runs with
# different seeds are measured on the same texts.
TEST_SEED = 20240602

# GLUE keeps the labels of its SST-2 test split to itself, so by custom its validation split tests.
SPLIT_ROLES: dict[str, dict[str, str]] = {"sst2": {"test": "validation"}}


@dataclass(frozen=True)
class Roles:
    """Names of the source's splits that play each part; ``None``: to be carved from the training texts."""

    train: str
    validation: str | None
    test: str | None


def assign_roles(config: DataConfig, available: Sequence[str], special: Mapping[str, str], origin: str) -> Roles:
    """Decide which split plays which part: the user's word first, then the source's, then the split of that name.

    A source without a test split lends its validation split to the test, since a figure measured on texts that chose
    the model would flatter it; unless the user named what validates, and a part of the training texts tests.
    """
    asked = {"train": config.train_split, "validation": config.validation_split, "test": config.test_split}
    chosen: dict[str, str | None] = {}
    for part, wanted in asked.items():
        name = wanted or (special[part] if special.get(part) in available else part)
        if name not in available:
            if wanted or part == "train":
                raise DataError(
                    f"{origin} has no split '{name}', only: {', '.join(available) or 'none'}; "
                    f"name the right one with data.{part}_split."
                )
            chosen[part] = None
        else:
            chosen[part] = name
    if chosen["validation"] == chosen["test"] and config.validation_split is None:
        chosen["validation"] = None  # the split tests (as SST-2's does), so it cannot validate as well
    if chosen["test"] is None and config.validation_split is None and config.validation_file is None:
        chosen["test"], chosen["validation"] = chosen["validation"], None
    used = [name for name in chosen.values() if name is not None]
    if len(set(used)) < len(used):
        raise DataError(
            f"{origin} would use one split for two parts (train '{chosen['train']}', validation "
            f"'{chosen['validation']}', test '{chosen['test']}'); choose different data.*_split values."
        )
    return Roles(train=str(chosen["train"]), validation=chosen["validation"], test=chosen["test"])


def stratified_sample(labels: Sequence[Hashable], size: int, seed: int) -> np.ndarray:
    """``size`` row numbers, ascending, with each class in proportion and, where ``size`` allows, none left out.

    Row i (from 0) of the n shuffled rows of a class gets the key i/n; the ``size`` smallest keys are taken. Every class
    is cut at the same key, hence in proportion, and every first row has key 0, hence comes before all second ones.
    """
    generator = np.random.default_rng(seed)
    numbers: dict[Hashable, int] = {}
    classes = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    keys = np.empty(len(classes))
    for number in range(len(numbers)):
        rows = np.flatnonzero(classes == number)
        keys[generator.permutation(rows)] = np.arange(len(rows)) / len(rows)
    ties = generator.permutation(len(classes))  # equal keys fall in random order, not in that of the file
    return np.sort(np.lexsort((ties, keys))[:size])


def carve(
    rows: np.ndarray, split: TextSplit | TaggedSplit | RawSplit, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split ``rows`` of ``split`` into (kept, held out); what is kept has every class.

    Copies of a text go together, so that no text that trains also tests, unless that would leave a class without texts.
    """
    strata, texts = split.strata, split.texts
    classes = {strata[row] for row in rows}
    held_out = max(1, round(fraction * len(rows)))
    kept = stratified_sample([strata[row] for row in rows], max(0, len(rows) - held_out), seed)
    hidden = {texts[row] for row in np.delete(rows, kept)}
    alone = np.array([number for number in kept if texts[rows[number]] not in hidden], dtype=np.int64)
    if {strata[row] for row in rows[alone]} == classes:
        kept = alone
    if {strata[row] for row in rows[kept]} != classes:
        raise DataError(
            f"There are only {len(rows)} training {split.unit}s, too few to hold some out and keep every class; add "
            f"{split.unit}s{split.parting}, or give data.validation_file and data.test_file."
        )
    return rows[kept], np.delete(rows, kept)


def limit(split: Split, samples: int, seed: int) -> Split:
    """A stratified sample of ``samples`` rows, or the whole split if it has no more or ``samples`` is -1."""
    if samples == ALL_ROWS or samples >= len(split):
        return split
    return split.take(stratified_sample(split.strata, samples, seed))
