"""A run and its folder: what it is known by, and what may be written where."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from splade.config.load import config_to_yaml
from splade.config.schema import Config
from splade.data.types import Dataset, TaggedSplit, TextSplit, dataset_fingerprint
from splade.errors import ConfigError
from splade.training.recipes import resolved


def run_id(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """What a checkpoint must agree with: all settings that shape the training, and the data, wherever they lie."""
    shaping = ("task", "seed", "data", "model", "training")
    anywhere = _with_files(replace(config, data=replace(config.data, root=None)), lambda path: path.name)
    settings = {key: value for key, value in asdict(resolved(anywhere)).items() if key in shaping}
    text = json.dumps(settings, sort_keys=True) + dataset_fingerprint(dataset)
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """What results must agree with to be this config's: all that shapes the training, the data, what is measured."""
    text = run_id(config, dataset) + json.dumps(asdict(config.evaluation), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check_output_dir(config: Config, *, resume: bool, overwrite: bool) -> None:
    """Refuse to write over an earlier run unless told to."""
    folder = Path(config.output_dir)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"output_dir is {folder}, which is a file; name a folder.")
    traces = [name for name in ("results.json", "model", "checkpoints", "metrics.jsonl") if (folder / name).exists()]
    if traces and not resume and not overwrite:
        raise ConfigError(
            f"{folder} already holds a run ({', '.join(traces)}); go on with --resume, begin anew with --overwrite, or "
            "choose another --set output_dir=…"
        )


def clear_output_dir(folder: Path) -> None:
    """Remove what an earlier run left; what a run does not write is not touched."""
    for name in ("results.json", "model", "checkpoints", "metrics.jsonl", "report.html", "README.md", "dense"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _with_files(config: Config, change: Callable[[Path], str]) -> Config:
    """With another path for each data file that is named."""
    named = {key: getattr(config.data, key) for key in ("train_file", "validation_file", "test_file")}
    changed: dict[str, Any] = {key: change(Path(value)) for key, value in named.items() if value is not None}
    return replace(config, data=replace(config.data, **changed))


def write_config(config: Config) -> None:
    """The settings a run was made with, in its folder; files by their whole path, so that they are found from it."""
    folder = Path(config.output_dir)
    config = _with_files(config, lambda path: str(path.absolute()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(config_to_yaml(config), encoding="utf-8")
