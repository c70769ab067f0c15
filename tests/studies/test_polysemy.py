"""The polysemy study on toy pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from splade.models.lexical_sae import LexicalSAE
from splade.studies import polysemy
from tests.runs import ToyRun, expect_sentence, read_json


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root" / "pairs"
    folder.mkdir(parents=True)
    rows = [
        {"text": "-", "sentence1": f"the {a} bank", "sentence2": f"a {b} bank", "index1": 2, "index2": 2, "label": same}
        for a, b, same in (("dull", "witty", 0), ("dull", "boring", 1), ("witty", "charming", 1))
    ]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "root"


def test_an_untrained_backbone_and_a_saved_model(
    run_study_cli: Callable[..., Result], toy_run: ToyRun, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polysemy, "FEWEST_OCCURRENCES", 6)
    data = {"data__train_file": None, "data__validation_file": None, "data__test_file": None}
    settings = {**data, "data__root": str(root), "data__dataset_name": "pairs"}
    done = run_study_cli("polysemy", **settings)
    assert done.exit_code == 0 and "another sense is chosen" in done.stdout, done.output
    found = read_json(tmp_path / "out" / "polysemy" / "results.json")
    assert found["pairs"] == 3 and found["senses"]["pairs_across"] == 1 and found["senses"]["pairs_within"] == 2
    assert (tmp_path / "out" / "polysemy" / "table.md").exists()
    done = run_study_cli("polysemy", "--model", str(toy_run.folder / "model"), **settings)
    assert done.exit_code == 0 and "another sense" not in done.stdout, done.output


def test_an_untrained_model_is_calibrated_as_for_training(
    run_study_cli: Callable[..., Result], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thetas: list[float] = []
    measure = polysemy.polysemy

    def noting(model: LexicalSAE, *rest: Any) -> Any:
        thetas.append(float(model.encoder.gate.theta.detach()[0]))
        return measure(model, *rest)

    monkeypatch.setattr(polysemy, "polysemy", noting)
    monkeypatch.setattr(polysemy, "FEWEST_OCCURRENCES", 6)
    data = {"data__train_file": None, "data__validation_file": None, "data__test_file": None}
    settings = {**data, "data__root": str(root), "data__dataset_name": "pairs"}
    for target in (0.05, 0.5):
        done = run_study_cli("polysemy", **settings, training__active_target=target)
        assert done.exit_code == 0, done.output
    assert thetas[0] > thetas[1]


def test_mistakes_are_one_sentence(run_study_cli: Callable[..., Result], root: Path) -> None:
    data = {"data__train_file": None, "data__validation_file": None, "data__test_file": None}
    settings = {**data, "data__root": str(root)}
    expect_sentence(run_study_cli("polysemy", **settings, data__dataset_name="none"), "no folder 'none'", "data.root")
    expect_sentence(run_study_cli("polysemy", **settings, data__dataset_name="pairs"), "No word of the pairs")
