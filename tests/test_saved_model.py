"""Which settings a measurement follows: each setting there is has an answer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from splade.config.schema import Config
from splade.models.dense import DenseClassifier
from splade.pipelines.measurement import saved_dense
from splade.pipelines.saved_model import FOLLOWED, why_not_followed
from tests.builders import build_dense, build_model
from tests.runs import ToyRun, expect_sentence, run_cli


def settings(section: object = None, parent: str = "") -> Iterator[str]:
    """Every `section.key` of the schema, and the sections."""
    section = Config() if section is None else section
    for field in dataclasses.fields(section):  # type: ignore[arg-type]
        yield f"{parent}{field.name}"
        value = getattr(section, field.name)
        if dataclasses.is_dataclass(value):
            yield from settings(value, f"{parent}{field.name}.")


def test_every_section_has_an_answer_and_every_answer_a_setting() -> None:
    assert {field.name for field in dataclasses.fields(Config)} <= set(FOLLOWED) <= set(settings())


def test_a_setting_has_its_sections_answer_unless_it_has_its_own() -> None:
    assert why_not_followed("data.text_column") is None is why_not_followed("model.topk_per_position")
    assert "is trained" in str(why_not_followed("training.loss_weights.anchor"))
    assert why_not_followed("evaluation.dense_baseline") and not why_not_followed("evaluation.batch_size")


@pytest.mark.parametrize(
    "setting",
    [
        "experiment_name=mine",
        "task=classification",
        "output_dir=there",
        "data.train_samples=5",
        "data.validation_samples=5",
        "model={neighbours: 3}",
        "training.epochs=9",
        "evaluation.dense_baseline=true",
        "evaluation.explain_samples=3",
        "study.seeds=[1]",
    ],
)
def test_what_has_no_effect_is_refused(toy_run: ToyRun, setting: str) -> None:
    done = run_cli("evaluate", "--model", toy_run.folder / "model", "--set", setting)
    expect_sentence(done, f"--set {setting.partition('=')[0]}", "was given, but", "leave it out")


def test_a_cap_is_for_taggers(toy_run: ToyRun) -> None:
    done = run_cli("evaluate", "--model", toy_run.folder / "model", "--set", "model.topk_per_position=2")
    expect_sentence(done, "is for taggers, and the model classifies texts")


def test_a_cap_in_a_settings_file_is_followed(toy_tagger: ToyRun, tmp_path: Path) -> None:
    (tmp_path / "capped.yaml").write_text("model: {topk_per_position: 2}\n")
    done = run_cli("evaluate", "--model", toy_tagger.folder / "model", "--config", tmp_path / "capped.yaml", "--json")
    assert json.loads(done.stdout)["active_tokens"]["max"] == 2


def test_a_model_is_loaded_with_the_dense_baseline_of_its_run(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    assert saved_dense(tmp_path / "run", model) is None
    build_dense(tmp_path).save_pretrained(tmp_path / "run" / "dense" / "model")
    assert isinstance(saved_dense(tmp_path / "run", model), DenseClassifier)
    build_dense(tmp_path, classes=3).save_pretrained(tmp_path / "run" / "dense" / "model")
    assert saved_dense(tmp_path / "run", model) is None
