"""`lexical-sae train`: what it prints, and dry runs."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import yaml

from tests.runs import ToyRun, read_json, run_cli, weights


class TestTrain:
    def test_prints_the_figures_and_where_things_are(self, toy_run: ToyRun) -> None:
        stdout = toy_run.result.stdout
        results = read_json(toy_run.folder / "results.json")
        assert f"{100 * results['accuracy']:.1f} %" in stdout and "largest error of the sum" in stdout
        assert f"Report: {toy_run.folder / 'report.html'}\n" in stdout
        assert f"Model:  {toy_run.folder / 'model'}\n" in stdout
        assert "16/16" in toy_run.result.stderr and "τ" in toy_run.result.stderr

    def test_a_dry_run_prints_settings_that_load_and_writes_nothing(self, toy_run: ToyRun, tmp_path: Path) -> None:
        output = tmp_path / ("a" * 100)  # longer than a terminal is wide
        done = run_cli("train", *toy_run.sets(output), "--dry-run")
        assert done.exit_code == 0 and not output.exists() and list(tmp_path.iterdir()) == []
        settings = yaml.safe_load(done.stdout)
        assert settings["output_dir"] == str(output) and settings["training"]["active_target"] == 10.0
        assert "# 128 training, 48 validation, 48 test texts; labels: negative, positive" in done.stdout
        assert "# 16 steps of 16 texts, 6 of them warm-up" in done.stdout

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [("training.max_steps=2", "both phases need steps"), ("evaluation.lexicon=nosuch.txt", "which is no file")],
    )
    def test_a_dry_run_finds_what_would_go_wrong(
        self, toy_run: ToyRun, tmp_path: Path, wrong: str, sentence: str
    ) -> None:
        for dry in (["--dry-run"], []):  # and training finds it before it begins
            done = run_cli("train", *toy_run.sets(tmp_path / "out"), "--set", wrong, *dry)
            assert done.exit_code == 2 and sentence in done.stderr
            assert not (tmp_path / "out").exists()

    def test_a_dry_run_refuses_what_training_would_refuse(self, toy_run: ToyRun) -> None:
        assert "--overwrite" in run_cli("train", *toy_run.sets(toy_run.folder), "--dry-run").stderr

    def test_a_dry_run_leaves_an_earlier_run_alone(self, toy_run: ToyRun) -> None:
        before = weights(toy_run.folder)
        done = run_cli("train", *toy_run.sets(toy_run.folder), "--dry-run", "--overwrite")
        assert done.exit_code == 0 and weights(toy_run.folder) == before
        assert (toy_run.folder / "results.json").exists()

    def test_an_earlier_run_is_refused(self, toy_run: ToyRun) -> None:
        done = run_cli("train", *toy_run.sets(toy_run.folder))
        assert done.exit_code == 2 and "--resume" in done.stderr and "--overwrite" in done.stderr

    def test_the_script_of_the_documents_is_the_same_command(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["--config", str(toy_run.folder / "config.yaml"), "--set", f"output_dir={tmp_path}", "--dry-run"]
        monkeypatch.setattr(sys, "argv", ["run_experiment", *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("splade.scripts.run_experiment", run_name="__main__")
        assert ended.value.code in (0, None)
        assert f"output_dir: {tmp_path}" in capsys.readouterr().out
