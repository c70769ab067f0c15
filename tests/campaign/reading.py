"""A file of texts, read as a training reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from splade.config.load import load_config
from splade.config.schema import Task
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TaggedSplit, TextSplit

Read = Dataset[TextSplit | TaggedSplit]


def read(
    path: Path | str, settings: Sequence[str] = (), task: Task = "classification", test: Path | None = None
) -> Read:
    """A file as all three splits of a set, so that nothing is held out."""
    parts = {"train": path, "validation": path, "test": test or path}
    files = [f"data.{part}_file={json.dumps(str(each))}" for part, each in parts.items()]
    return load_dataset(load_config(None, [f"task={task}", *files, *settings]).data, 0, task)
