"""`lexical-sae train FILE`: the settings that one file of one's own stands for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from splade.errors import ConfigError, DataError
from splade.task_description import TAGGING

if TYPE_CHECKING:
    from splade.config.schema import Task

LOOKED_AT = 20  # lines by which a column file is told from texts
SETTINGS_FILES = (".yaml", ".yml")
OTHER_DATA = ("data.train_file", "data.dataset_name")


def settings_of_file(
    file: Path, config: Path | None, overrides: Sequence[str], task: Task | None
) -> tuple[list[str], list[str]]:
    """Overrides that make `file` the training texts, and a sentence on each thing it decides.

    The run is called after the file, and so is the folder of its results; words with tags are for tagging. Whatever
    else names such a thing goes before, but other training texts do not go with it.
    """
    if file.suffix.lower() in SETTINGS_FILES:
        raise ConfigError(f"{file} looks like a settings file, where texts were expected; name it with --config.")
    from splade.config.named import named_by_overrides, named_in_file  # loads pydantic, which no --help needs

    by_set, in_file = named_by_overrides(overrides), named_in_file(config)
    for key in OTHER_DATA:
        if key in by_set or key in in_file:
            other = f"--set {key}" if key in by_set else f"{config} with {key}"
            raise ConfigError(f"Both the file {file} and {other} were given, and each names the texts; keep one.")
    if not os.path.exists(file):
        raise DataError(
            f"There is no file {file} to train on; check the path (a data set is named with --set "
            "data.dataset_name=…, a settings file with --config)."
        )
    settings, said = {"data.train_file": str(file)}, []
    named = {*by_set, *in_file}
    stem = file.name.split(".")[0]
    if "experiment_name" not in named and stem:
        settings["experiment_name"] = stem
    if "output_dir" not in named and stem:
        settings["output_dir"] = str(Path("results") / stem)
    if "task" not in named and task is None and (reason := _tells_tagging(file)):
        settings["task"] = TAGGING.name
        said.append(f"Task: {TAGGING.name}, since {file.name} {reason} (say otherwise with --set task=classification).")
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()], said


def _tells_tagging(file: Path) -> str | None:
    """What it is about a file that makes its texts words with tags; None: nothing, or it cannot be read."""
    from splade.data.files import tag_formats, text_formats  # loads numpy, which no --help needs

    ending = next((s.lower().lstrip(".") for s in reversed(file.suffixes) if s.lower() != ".gz"), "")
    if ending in tag_formats.names() and ending not in (*text_formats.names(), "txt"):
        return f"is a column file (.{ending})"
    try:
        if ending in ("txt", "tsv") and _has_columns_of_tags(file):
            return "has a word and its tag a line"
        columns = _columns(file, ending)
    except (DataError, OSError, ValueError):  # which training says better
        return None
    return "has the column 'tokens' and no column 'text'" if "tokens" in columns and "text" not in columns else None


def _has_columns_of_tags(file: Path) -> bool:
    from splade.data.files import read_file
    from splade.data.schemes import split_tag

    lines = read_file(file, lambda stream, _: [line.split() for line in islice(stream, LOOKED_AT)])
    words = [fields for fields in lines if fields and not fields[0].startswith(("#", "-DOCSTART-"))]
    return bool(words) and all(len(fields) > 1 and split_tag(fields[-1]) is not None for fields in words)


def _columns(file: Path, ending: str) -> list[str]:
    """Of JSON Lines, by the first row, and of Parquet; of other formats none."""
    from splade.data.files import read_file

    if ending == "parquet":
        import pyarrow.parquet  # 25 MB that other formats do without

        return list(pyarrow.parquet.read_schema(file).names)
    if ending != "jsonl":
        return []

    def first(stream: IO[str], _: Path) -> object:
        return json.loads(next((line for line in stream if line.strip()), "{}"))

    row = read_file(file, first)
    return list(row) if isinstance(row, dict) else []
