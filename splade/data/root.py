"""The data root: a folder with one folder a set, each with ``train|validation|test`` files and a ``meta.json``."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from splade.config.schema import DataConfig, Task
from splade.data.encoding import clean_text
from splade.data.files import read_table
from splade.data.splits import SPLIT_ROLES
from splade.data.types import Source, Table
from splade.errors import DataError, shown
from splade.utils.reading import read_bytes

ENVIRONMENT_VARIABLE = "LEXICAL_SAE_DATA"
ALIASES = {"yelp": "yelp_polarity"}  # the seeds' short name for the folder of the full one
FORMATS = (".jsonl", ".csv", ".tsv", ".conll", ".bio", ".iob")
ENDINGS = (*FORMATS, *(f"{ending}.gz" for ending in FORMATS), ".parquet")


def data_root(config: DataConfig) -> Path | None:
    """The folder named by ``data.root`` or the environment; a name that leads nowhere is an error, not a miss."""
    for setting, value in (("data.root", config.root), (ENVIRONMENT_VARIABLE, os.environ.get(ENVIRONMENT_VARIABLE))):
        if value:
            if not os.path.isdir(value):  # and not Path.is_dir, which fails on names too long for a file
                raise DataError(f"{setting} names the folder {value}, which does not exist; correct or unset it.")
            return Path(value)
    return None


def root_source(config: DataConfig, task: Task = "classification") -> Source | None:
    """The set ``dataset_name`` of the data root, or ``None`` if there is no root or it has no such folder."""
    root = data_root(config)
    if root is None or config.dataset_name is None:
        return None
    names = [config.dataset_name, ALIASES.get(config.dataset_name, config.dataset_name)]
    folder = next((root / name for name in names if os.path.isdir(root / name)), None)
    if folder is None:
        return None
    meta = _read_meta(folder / "meta.json")
    title = meta.get("name")
    return Source(
        name=config.dataset_name,
        description=f"Folder '{folder.name}' of the data root ({title if isinstance(title, str) else folder.name}).",
        splits={split: partial(_read, path, config, task) for split, path in _splits(folder).items()},
        label_names=_labels(meta.get("labels"), folder / "meta.json"),
        roles=SPLIT_ROLES.get(config.dataset_name, {}),
    )


def set_names(root: Path | None) -> list[str]:
    """Names of the sets a root can train on, for messages."""
    folders = _listed(root) if root else []
    return sorted(folder.name for folder in folders if os.path.isdir(folder) and "train" in _splits(folder))


def _splits(folder: Path) -> dict[str, Path]:
    paths = _listed(folder)
    return {path.name[: -len(end)]: path for path in paths for end in ENDINGS if path.name.endswith(end)}


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"The folder {folder} cannot be read ({error.strerror}); check its rights.") from None


def _read(path: Path, config: DataConfig, task: Task) -> Table:
    return replace(read_table(path, task, config), origin=f"{path.parent.name}/{path.name}")


def _read_meta(path: Path) -> dict[str, object]:
    if not os.path.lexists(path):
        return {}
    try:
        meta = json.loads(read_bytes(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict):
        raise DataError(f"The file {path} is not a JSON object; correct it, or remove it to take labels from the data.")
    return meta


def _labels(given: object, path: Path) -> list[str] | None:
    """The class names in the order of their numbers."""
    if given is None:
        return None
    listed = given if isinstance(given, list) else []
    names = [str(name).strip() for name in listed if isinstance(name, str | int)]
    if not names or len(set(names)) < len(listed) or any(not name or name != clean_text(name) for name in names):
        raise DataError(
            f"The file {path} has {shown(given)} for 'labels', where a list of different names was expected, in the "
            "order of their numbers; correct it, or remove it to take labels from the data."
        )
    return names
