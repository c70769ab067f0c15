"""The command line: what each command prints, reads and writes."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from splade.cli import app
from splade.models.saving import rehash_model
from tests.builders import toy_reviews
from tests.runs import LABELS, ToyRun, read_json, run_cli, weights, write_csv

TEXTS = ["the film was charming and the plot witty .", "", "a very dull story"]


@pytest.fixture(scope="module")
def model(toy_run: ToyRun) -> Path:
    return toy_run.folder / "model"


def objects(stdout: str) -> list[dict]:  # type: ignore[type-arg]
    """One JSON object a line."""
    return [json.loads(line) for line in stdout.splitlines()]


class TestExplain:
    def test_json_has_just_its_schema_and_sums(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--json", *TEXTS)
        assert done.exit_code == 0 and done.stderr == ""
        found = objects(done.stdout)
        assert [one["text"] for one in found] == TEXTS
        for one in found:
            assert list(one) == ["text", "label", "target", "logits", "probabilities", "bias", "tokens", "words"]
            assert list(one["logits"]) == list(one["probabilities"]) == LABELS
            assert one["target"] == one["label"] == max(LABELS, key=one["logits"].__getitem__)
            for token in one["tokens"]:
                assert [*map(type, token.values())] == [str, float, float, int]
                assert list(token) == ["token", "score", "value", "position"]
            for word in one["words"]:
                assert [*map(type, word.values())] == [str, int, int, float]
                assert list(word) == ["word", "start", "end", "score"]
                assert word["word"] == one["text"][word["start"] : word["end"]]
            for rows in (one["tokens"], one["words"]):
                total = one["bias"] + sum(row["score"] for row in rows)
                assert total == pytest.approx(one["logits"][one["target"]], abs=1e-4)

    def test_another_target(self, model: Path) -> None:
        for label in LABELS:
            (one,) = objects(run_cli("explain", "--model", model, "--json", "--target", label, TEXTS[0]).stdout)
            total = one["bias"] + sum(row["score"] for row in one["tokens"])
            assert one["target"] == label and total == pytest.approx(one["logits"][label], abs=1e-4)

    def test_a_dash_reads_one_text_a_line(self, model: Path) -> None:
        """Only a line feed ends a line: texts may hold a form feed or a Unicode line separator."""
        lines = ["a charming film", "", "bad\x0cplot\u2028dull", "schön 👍"]
        done = run_cli("explain", "--model", model, "--json", "-", stdin="\r\n".join(lines) + "\n")
        assert [one["text"] for one in objects(done.stdout)] == lines

    def test_bytes_that_are_no_text_are_replaced(self, model: Path) -> None:
        done = run_cli("predict", "--model", model, "--json", "-", stdin=b"good \xff film\n")
        assert done.exit_code == 0 and objects(done.stdout)[0]["text"] == "good \ufffd film"

    def test_a_lone_surrogate_as_a_shell_may_pass_it(self, model: Path) -> None:
        for command in ("explain", "predict"):
            done = run_cli(command, "--model", model, "--json", "good \udcff film")
            assert done.exit_code == 0 and objects(done.stdout)[0]["text"] == "good ? film"

    def test_a_file_holds_one_text_a_line(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "texts.txt").write_text("\ufeffa charming film\na dull plot", encoding="utf-8")
        done = run_cli("explain", "--model", model, "--json", "--file", tmp_path / "texts.txt")
        assert [one["text"] for one in objects(done.stdout)] == ["a charming film", "a dull plot"]

    def test_a_file_with_columns_is_read_as_training_reads_it(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": 1, "text": text}) + "\n" for text in TEXTS))
        for path in (tmp_path / "a.jsonl", write_csv(tmp_path / "a.csv", TEXTS, [0, 1, 0])):
            for command in ("explain", "predict"):
                done = run_cli(command, "--model", model, "--json", "--file", path)
                assert [one["text"] for one in objects(done.stdout)] == TEXTS

    def test_a_mark_of_the_byte_order_is_no_part_of_standard_input(self, model: Path) -> None:
        done = run_cli("predict", "--model", model, "--json", "-", stdin=b"\xef\xbb\xbfgood film\n")
        assert objects(done.stdout)[0]["text"] == "good film"

    def test_no_texts_are_nothing_to_print_and_it_is_said(self, model: Path, tmp_path: Path) -> None:
        for name in ("none.txt", "none.jsonl"):
            (tmp_path / name).touch()
            done = run_cli("explain", "--model", model, "--json", "--file", tmp_path / name)
            assert (done.exit_code, done.stdout) == (0, "")
            assert done.stderr == f"The file {tmp_path / name} has no texts, so there is nothing to print.\n"
        done = run_cli("explain", "--model", model, "--json", "-", stdin="")
        assert (done.exit_code, done.stdout) == (0, "") and done.stderr.startswith("Standard input has no texts")
        done = run_cli("explain", "--model", model, "--json", stdin="")  # nobody said where texts are
        assert (done.exit_code, done.stdout) == (2, "") and done.stderr.startswith("There is no text to read; give")

    def test_the_table_shows_words_and_a_sum_that_adds_up(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, TEXTS[0])
        assert done.exit_code == 0
        assert "charming" in done.stdout and "bias" in done.stdout and "= logit of" in done.stdout
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["word", "score"])
        end = next(i for i, line in enumerate(lines) if i > start and line.startswith("="))
        scores = [re.search(r" ([+-]\d+\.\d{3})", line) for line in lines[start + 1 : end + 1]]
        *summands, logit = [float(score[1]) for score in scores if score]
        assert len(summands) == end - start - 1 and sum(summands) == pytest.approx(logit, abs=1e-9)


class TestPredict:
    def test_plain_and_json(self, model: Path) -> None:
        plain = run_cli("predict", "--model", model, *TEXTS)
        found = objects(run_cli("predict", "--model", model, "--json", *TEXTS).stdout)
        assert [list(one) for one in found] == [["text", "label", "probabilities"]] * 3
        expected = [f"{one['label']}\t{one['probabilities'][one['label']]:.4f}\t{one['text']}" for one in found]
        assert plain.stdout.splitlines() == expected

    def test_knows_good_from_bad(self, model: Path) -> None:
        texts, labels = toy_reviews(30, seed=9)
        found = objects(run_cli("predict", "--model", model, "--json", "-", stdin="\n".join(texts)).stdout)
        right = sum(one["label"] == LABELS[label] for one, label in zip(found, labels, strict=True))
        assert right > 20


class TestEvaluate:
    def test_finds_the_figures_of_the_training(self, toy_run: ToyRun, model: Path, tmp_path: Path) -> None:
        output = tmp_path / "new" / "figures.json"
        done = run_cli("evaluate", "--model", model, "--json", "--output", output)
        assert done.exit_code == 0, done.output
        found, reported = json.loads(done.stdout), read_json(toy_run.folder / "results.json")
        assert read_json(output) == found
        for figure in ("accuracy", "macro_f1", "active_tokens", "completeness", "separation", "grounding"):
            assert found[figure] == reported[figure]
        for figure in ("per_class", "confusion", "findings"):
            assert found[figure] == reported[figure]
        assert found["findings"] and found["notes"][-len(found["findings"]) :] == found["findings"]

    def test_on_other_texts(self, model: Path, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "other.csv", ["charming", "dull", "witty"], ["positive", "negative", "positive"])
        done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={path}")
        assert done.exit_code == 0 and "over 3 texts, every class" in done.stdout

    @pytest.mark.parametrize("trained_on", ["files", "named set"])
    def test_on_a_file_alone(self, model: Path, tmp_path: Path, trained_on: str) -> None:
        folder = tmp_path / "model"
        shutil.copytree(model, folder)
        if trained_on == "named set":  # which is not there
            record = read_json(folder / "lexical_sae.json")
            data = dict.fromkeys(("train_file", "validation_file", "test_file")) | {"dataset_name": "away"}
            record["experiment"]["data"] |= data | {"test_split": "gone", "test_samples": 2}
            (folder / "lexical_sae.json").write_text(json.dumps(record))
            rehash_model(folder)
        texts, labels = ["charming", "dull", "witty"], ["positive", "negative", "positive"]
        path = write_csv(tmp_path / "it's: own.csv", texts, labels)
        done = run_cli("evaluate", "--model", folder, "--file", path)
        assert done.exit_code == 0, done.output
        assert "over 3 texts, every class" in done.stdout

    def test_a_set_named_takes_the_place_of_the_trainings_files(self, model: Path, tmp_path: Path) -> None:
        for part, texts in (("train", ["charming", "dull"]), ("test", ["witty", "dull", "charming", "tedious"])):
            (tmp_path / "root" / "sst2").mkdir(parents=True, exist_ok=True)
            labels = ["negative" if text in ("dull", "tedious") else "positive" for text in texts]
            write_csv(tmp_path / "root" / "sst2" / f"{part}.csv", texts, labels)
        named = ("--set", f"data.root={tmp_path / 'root'}", "--set", "data.dataset_name=sst2")
        done = run_cli("evaluate", "--model", model, *named)
        assert done.exit_code == 0, done.output
        assert "over 4 texts, every class" in done.stdout

    def test_a_model_that_was_moved_still_knows_its_data(self, toy_run: ToyRun, model: Path, tmp_path: Path) -> None:
        shutil.copytree(model, tmp_path / "moved")
        found = json.loads(run_cli("evaluate", "--model", tmp_path / "moved", "--json").stdout)
        assert found["accuracy"] == read_json(toy_run.folder / "results.json")["accuracy"]

    def test_the_frozen_backbone_is_the_models_own(self, toy_run: ToyRun, model: Path, tmp_path: Path) -> None:
        """Settings that only name data must not compare the model with the default backbone."""
        config = {"data": {f"{part}_file": str(toy_run.data / f"{part}.csv") for part in ("train", "test")}}
        (tmp_path / "data.yaml").write_text(yaml.safe_dump(config))
        done = run_cli("evaluate", "--model", model, "--config", tmp_path / "data.yaml", "--json")
        reported = read_json(toy_run.folder / "results.json")
        assert json.loads(done.stdout)["grounding"]["frozen_share"] == reported["grounding"]["frozen_share"]


class TestTrain:
    def test_prints_the_figures_and_where_things_are(self, toy_run: ToyRun) -> None:
        stdout = toy_run.result.stdout
        results = read_json(toy_run.folder / "results.json")
        assert f"{results['accuracy']:.4f}" in stdout and "identity, max error" in stdout
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


def test_the_installed_command_explains_in_a_new_process(model: Path) -> None:
    """And through a pipe: one JSON object a line on standard output, nothing on standard error."""
    command = [Path(sys.executable).with_name("lexical-sae"), "explain", "--model", model, "--json", "-"]
    done = subprocess.run(command, input=b"a charming film\n\n", capture_output=True, timeout=300)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert [one["text"] for one in objects(done.stdout.decode())] == ["a charming film", ""]


def test_help_lists_the_commands() -> None:
    assert {command.name or command.callback.__name__ for command in app.registered_commands} == {  # type: ignore[union-attr]
        "train",
        "evaluate",
        "predict",
        "explain",
    }
    assert all(name in run_cli("--help").stdout for name in ("train", "evaluate", "predict", "explain"))


def test_help_says_what_json_each_command_prints() -> None:
    helps = {command: run_cli(command, "--help").stdout for command in ("evaluate", "predict", "explain")}
    assert "one JSON object a text" not in helps["evaluate"] and "as one JSON object" in helps["evaluate"]
    assert all("one JSON object a text" in helps[command] for command in ("predict", "explain"))
