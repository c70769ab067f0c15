"""What the tests of studies share: quick toy runs, a stand-in for training, and a study's command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from splade.cli.studies import app
from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.run_folder import fingerprint
from splade.studies import study
from tests.runs import ToyRun, read_json

#: Six steps instead of sixteen: bookkeeping does not need a model that knows anything.
QUICK: dict[str, object] = {
    "training__max_steps": 6,
    "training__eval_every": 3,
    "evaluation__explain_samples": 1,
    "experiment_name": "toy",
}


@pytest.fixture
def quick(toy_run: ToyRun, tmp_path: Path) -> Callable[..., Config]:
    """A config of quick runs that write below the test's own folder."""
    return lambda **changes: toy_run.config(tmp_path / "out", **{**QUICK, **changes})


@pytest.fixture
def run_study_cli(toy_run: ToyRun, tmp_path: Path) -> Callable[..., Result]:
    """`lexical-sae study …` with the settings of a quick run."""

    def run(name: str, *arguments: str, **changes: object) -> Result:
        sets = toy_run.sets(tmp_path / "out", **{**QUICK, **changes})
        return CliRunner().invoke(app, [name, *sets, *arguments])

    return run


@pytest.fixture
def trained(toy_run: ToyRun, monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Replaces training by the toy run's results, the accuracy made to depend on the seed; lists what was "trained"."""
    done: list[Config] = []
    template = read_json(toy_run.folder / "results.json")

    def train(config: Config, **_: Any) -> None:
        done.append(config)
        dataset = load_dataset(config.data, config.seed)
        results = template | {"fingerprint": fingerprint(config, dataset), "accuracy": 0.8 + config.seed / 100}
        folder = Path(config.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(results))

    monkeypatch.setattr(study, "run_experiment", train)
    monkeypatch.setattr(study.gc, "collect", lambda: 0)  # nothing to collect, and it looks through all of torch
    return done
