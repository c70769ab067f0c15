"""A finished run that is measured again, with the same settings of `evaluation` or others: nothing is trained."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from splade.config.load import load_config
from splade.errors import ConfigError
from splade.evaluation.memory import Memory
from splade.pipelines import measure_again, run_experiment
from tests.runs import ToyRun, read_json, weights

TIMES = {"seconds", "fingerprint"}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the measures that are taken, and not remembered."""
    names: list[str] = []
    keep = Memory.keep
    monkeypatch.setattr(
        Memory, "keep", lambda self, measure, *rest: names.append(measure.name) or keep(self, measure, *rest)
    )  # type: ignore[func-returns-value]
    return names


@pytest.fixture
def folder(toy_run: ToyRun, tmp_path: Path) -> Path:
    return shutil.copytree(toy_run.folder, tmp_path / "run")


def again(folder: Path, **changes: Any) -> dict[str, Any]:
    config = load_config(folder / "config.yaml")
    evaluation = dataclasses.replace(config.evaluation, **changes)
    config = dataclasses.replace(config, output_dir=str(folder), evaluation=evaluation)
    results = measure_again(config, console=Console(quiet=True))
    assert read_json(folder / "results.json") == results and load_config(folder / "config.yaml") == config
    return results


def same(results: dict[str, Any], folder: Path, but: set[str] = TIMES) -> bool:
    """Whether results are those of a folder but for some keys."""
    before = read_json(folder / "results.json")
    return {key: value for key, value in results.items() if key not in but} == {
        key: value for key, value in before.items() if key not in but
    }


def test_with_the_same_settings_nothing_is_measured(toy_run: ToyRun, folder: Path, kept: list[str]) -> None:
    assert same(again(folder), toy_run.folder) and kept == []
    assert weights(folder) == weights(toy_run.folder)


def test_without_the_memory_the_same_is_found(toy_run: ToyRun, folder: Path, kept: list[str]) -> None:
    shutil.rmtree(folder / "measures")
    assert same(again(folder), toy_run.folder) and len(kept) > 8


def test_a_lexicon_comes_and_goes_and_only_it_is_measured(
    toy_run: ToyRun, folder: Path, kept: list[str], tmp_path: Path
) -> None:
    (tmp_path / "ratings.tsv").write_text("good\t2\nawful\t-2\n")
    results = again(folder, lexicon=str(tmp_path / "ratings.tsv"))
    assert kept == ["lexicon"] and results["grounding"].pop("lexicon")["coverage"] > 0
    assert same(results, toy_run.folder)
    assert same(again(folder, lexicon=None), toy_run.folder) and kept == ["lexicon"]


def test_some_measures_take_the_place_of_what_they_found_and_leave_the_others_alone(
    toy_run: ToyRun, folder: Path, kept: list[str]
) -> None:
    before = read_json(folder / "results.json")
    results = again(folder, measures=["completeness", "input_share"], completeness_shares=[0.3])
    assert kept == ["completeness"] and list(results["completeness"]) == ["0.3"]
    assert results["grounding"] == before["grounding"] and results["accuracy"] == before["accuracy"]
    assert results["findings"] == before["findings"] != [] and results["notes"] == before["notes"]
    assert same(results, toy_run.folder, {*TIMES, "completeness", "findings", "notes"})


def test_a_run_stopped_after_its_training_goes_on_with_what_was_measured(
    toy_run: ToyRun, folder: Path, kept: list[str]
) -> None:
    for name in ("results.json", "report.html", "README.md", "measures/identity-*.json"):
        [path] = folder.glob(name)
        path.unlink()
    run_experiment(toy_run.config(folder), resume=True)
    assert kept == ["identity"]
    assert read_json(folder / "results.json")["dla"] == read_json(toy_run.folder / "results.json")["dla"]


def test_another_run_in_the_folder_leaves_nothing_of_the_one_before(
    toy_run: ToyRun, folder: Path, kept: list[str]
) -> None:
    run_experiment(toy_run.config(folder, seed=7, evaluation__measures=["identity"]), overwrite=True)
    assert kept == ["identity"] and [path.name[:9] for path in (folder / "measures").iterdir()] == ["identity-"]
    assert "accuracy" not in read_json(folder / "results.json")


def test_some_measures_on_other_texts_than_the_others_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"on 5 texts, but the others .* are of 48 \(evaluation.max_samples\)"):
        again(folder, measures=["identity"], max_samples=5)
