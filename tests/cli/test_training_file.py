"""`lexical-sae train FILE`: the settings that one file stands for."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from splade.cli.training_file import settings_of_file
from tests.runs import TINY, ToyRun, expect_sentence, read_json, run_cli, sets


class TestTrainFile:
    """`train FILE`: the file names the texts, the run and its folder."""

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def tiny(self, run: ToyRun) -> list[str]:
        return sets([f"model.name={run.backbone}", *(f"{key}={json.dumps(value)}" for key, value in TINY.items())])

    def test_trains_and_says_what_was_decided_before(self, toy_run: ToyRun, tmp_path: Path) -> None:
        shutil.copy(toy_run.data / "train.csv", tmp_path / "mine.csv")
        done = run_cli("train", "mine.csv", *self.tiny(toy_run))
        assert done.exit_code == 0, done.output
        said = done.stderr.splitlines()
        began = next(number for number, line in enumerate(said) if line.startswith("warmup "))
        assert said[0] == "Data: Own files: mine.csv." and f"Output: {Path('results/mine')}" in said[:began]
        assert any(re.fullmatch(r"Split: \d+ training, .* texts; labels: negative, positive", x) for x in said[:began])
        assert read_json(tmp_path / "results" / "mine" / "results.json")["experiment_name"] == "mine"

    def test_settings_go_before_what_the_file_is_called(self, toy_run: ToyRun, tmp_path: Path) -> None:
        shutil.copy(toy_run.data / "train.csv", tmp_path / "mine.csv")
        (tmp_path / "mine.yaml").write_text("experiment_name: title\ndata: {max_length: 20}\n")
        arguments = ["mine.csv", "--config", "mine.yaml", *self.tiny(toy_run), "--set", "output_dir=there", "--dry-run"]
        settings = yaml.safe_load(run_cli("train", *arguments).stdout)
        assert (settings["experiment_name"], settings["output_dir"]) == ("title", "there")
        assert settings["data"]["train_file"] == "mine.csv" and settings["task"] == "classification"

    def test_other_data_does_not_go_with_it(self, toy_run: ToyRun, tmp_path: Path) -> None:
        shutil.copy(toy_run.data / "train.csv", tmp_path / "mine.csv")
        for setting in ("data.train_file=other.csv", "data.dataset_name=imdb", "data={dataset_name: imdb}"):
            done = run_cli("train", "mine.csv", "--set", setting)
            expect_sentence(done, "Both the file mine.csv and --set data.", "each names the texts; keep one")
        (tmp_path / "other.yaml").write_text("data:\n  dataset_name: imdb\n")
        done = run_cli("train", "mine.csv", "--config", "other.yaml")
        expect_sentence(done, "Both the file mine.csv and other.yaml with data.dataset_name were given")
        assert not (tmp_path / "results").exists()

    @pytest.mark.parametrize(
        ("name", "parts"),
        [
            ("imdb", ("There is no file imdb to train on", "--set data.dataset_name=…")),
            ("mine.yaml", ("looks like a settings file", "--config")),
            ("x" * 300 + ".csv", ("There is no file",)),
            (".", ("is a folder, where a file of texts was expected",)),
        ],
    )
    def test_what_is_no_file_of_texts(self, name: str, parts: tuple[str, ...]) -> None:
        expect_sentence(run_cli("train", name), *parts)

    @pytest.mark.parametrize(
        ("name", "content", "task"),
        [
            ("mine.conll", "john B-PER\nsaw O\n\n", "tagging"),
            ("mine.txt", "# comment\n\njohn NNP B-PER\nsaw VB O\n\n", "tagging"),
            ("mine.tsv", "john\tB-PER\nsaw\tO\n\n", "tagging"),
            ("mine.jsonl", '\n{"tokens": ["john", "saw"], "tags": ["B-PER", "O"]}\n', "tagging"),
            ("mine.tsv", "text\tlabel\njohn saw\tgood\n", "classification"),
            ("mine.jsonl", '{"text": "john", "tokens": ["john"], "label": "good"}\n', "classification"),
            ("mine.jsonl", "[]", "classification"),
        ],
    )
    def test_the_task_that_a_file_tells(self, tmp_path: Path, name: str, content: str, task: str) -> None:
        (tmp_path / name).write_text(content)
        overrides, said = settings_of_file(Path(name), None, [], None)
        assert ('task="tagging"' in overrides) == (task == "tagging") == bool(said)
        for named in (["task=classification"], ["data.max_length=9", "task=tagging"]):
            overrides, said = settings_of_file(Path(name), None, named, None)
            assert not said and not any(each.startswith("task") for each in overrides)

    def test_a_column_file_trains_a_tagger(self, toy_tagger: ToyRun, tmp_path: Path) -> None:
        shutil.copy(toy_tagger.data / "train.conll", tmp_path / "mine.conll")
        more = ["--set", "model.support=dictionary", "--dry-run"]
        done = run_cli("train", "mine.conll", *self.tiny(toy_tagger), *more)
        assert done.exit_code == 0, done.output
        assert "Task: tagging, since mine.conll is a column file (.conll)" in done.stderr
        assert yaml.safe_load(done.stdout)["task"] == "tagging"
