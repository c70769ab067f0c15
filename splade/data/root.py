"""The data root: a folder with one folder a set, each with ``train|validation|test`` files and a ``meta.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from splade.config.schema import DataConfig, Task
from splade.data.files import read_columns
from splade.data.splits import SPLIT_ROLES
from splade.data.tasks import pick
from splade.data.types import RawSplit, RawTags, Source
from splade.errors import DataError

ENVIRONMENT_VARIABLE = "LEXICAL_SAE_DATA"
ALIASES = {"yelp": "yelp_polarity"}  # the seeds' short name for the folder of the full one
FORMATS = (".jsonl", ".csv", ".tsv", ".conll", ".bio", ".iob")
ENDINGS = (*FORMATS, *(f"{each}.gz" for each in FORMATS), ".parquet")


def data_root(config: DataConfig) -> Path | None:
    """The folder named by ``data.root`` or the environment; a name that leads nowhere is an error, not a miss."""
    for setting, value in (("data.root", config.root), (ENVIRONMENT_VARIABLE, os.environ.get(ENVIRONMENT_VARIABLE))):
        if value:
            if not Path(value).is_dir():
                raise DataError(f"{setting} names the folder {value}, which does not exist; correct or unset it.")
            return Path(value)
    return None


def root_source(config: DataConfig, task: Task = "classification") -> Source | None:
    """The set ``dataset_name`` of the data root, or ``None`` if there is no root or it has no such folder."""
    root = data_root(config)
    if root is None or config.dataset_name is None:
        return None
    names = [config.dataset_name, ALIASES.get(config.dataset_name, config.dataset_name)]
    folder = next((root / name for name in names if (root / name).is_dir()), None)
    if folder is None:
        return None
    meta = _read_meta(folder / "meta.json")
    labels = meta.get("labels")
    return Source(
        name=config.dataset_name,
        description=f"Folder '{folder.name}' of the data root ({meta.get('name', folder.name)}).",
        splits={split: _reader(path, config, task) for split, path in _splits(folder).items()},
        label_names=[str(label) for label in labels] if isinstance(labels, list) else None,
        roles=SPLIT_ROLES.get(config.dataset_name, {}),
    )


def set_names(root: Path | None) -> list[str]:
    """Names of the sets a root can train on, for messages."""
    return sorted(each.name for each in root.iterdir() if "train" in _splits(each)) if root else []


def _splits(folder: Path) -> dict[str, Path]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name[: -len(end)]: path for path in paths for end in ENDINGS if path.name.endswith(end)}


def _reader(path: Path, config: DataConfig, task: Task) -> Callable[[], RawSplit | RawTags]:
    return lambda: pick(read_columns(path, task, config), config, f"{path.parent.name}/{path.name}", task)


def _read_meta(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        meta = None
    if not isinstance(meta, dict):
        raise DataError(f"The file {path} is not a JSON object; correct it, or remove it to take labels from the data.")
    return meta
