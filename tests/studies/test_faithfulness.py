"""The study of faithfulness on a toy run: trained once with its dense baseline, and measured, never trained, again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from splade.config.schema import Config
from splade.errors import ConfigError
from splade.pipelines import run_experiment
from splade.studies import study
from splade.studies.faithfulness import faithfulness_study
from tests.runs import expect_sentence, read_json

FEW: dict[str, object] = {
    "evaluation__explainers": "dla,gradient,random",
    "evaluation__explainers_texts": 6,
    "evaluation__deletion_texts": 6,
}


def no_training(config: Config, **_: object) -> None:
    raise AssertionError("nothing is to be trained")


def test_a_run_is_trained_once_and_measured(
    quick: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = faithfulness_study(quick(**FEW))
    assert list(results["explainers"]) == ["dla", "gradient", "random", "dense", "of"]
    assert {"eraser", "removability", "deletion", "accuracy", "dense_accuracy"} <= results.keys()
    assert results["explainers"]["of"]["texts"] == 6
    assert "Explainers, at the words" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    monkeypatch.setattr(study, "run_experiment", no_training)
    assert faithfulness_study(quick(**FEW)) == results
    more = faithfulness_study(quick(**{**FEW, "evaluation__explainers_texts": 7}))
    assert more["explainers"]["of"]["texts"] == 7 and more["accuracy"] == results["accuracy"]


def test_a_finished_run_without_a_dense_baseline_is_measured_as_it_is(
    quick: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_experiment(quick(**FEW))
    monkeypatch.setattr(study, "run_experiment", no_training)
    results = faithfulness_study(quick(**FEW))
    assert list(results["explainers"]) == ["dla", "gradient", "random", "of"]


def test_another_run_is_not_replaced_unasked(quick: Callable[..., Config], tmp_path: Path) -> None:
    run_experiment(quick())
    with pytest.raises(ConfigError, match="holds a run with other settings or data; run it again with --overwrite"):
        faithfulness_study(quick(seed=7, **FEW))
    assert read_json(tmp_path / "out" / "results.json")["seed"] != 7


def test_the_command_prints_the_table(run_study_cli: Callable[..., Result], tmp_path: Path) -> None:
    result = run_study_cli("faithfulness", **FEW)
    assert result.exit_code == 0, result.output
    assert all(
        name in result.stdout for name in ("DLA (ours)", "Explainers of the dense baseline", "compr.", "seconds")
    )
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in result.stdout
    expect_sentence(run_study_cli("faithfulness", task="tagging"), "compares classifiers of whole texts")
