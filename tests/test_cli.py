"""The command line: what each command prints, reads and writes."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from splade.cli import app
from splade.cli.training_file import settings_of_file
from splade.models.lexical_sae import LexicalSAE
from splade.models.rehash import rehash_model
from tests.builders import toy_reviews
from tests.runs import LABELS, TINY, ToyRun, expect_sentence, read_json, run_cli, sets, weights, write_csv

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
            sums = ["bias", "truncated", "tokens", "words"]
            assert list(one) == ["text", "label", "target", "logits", "probabilities", *sums]
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
        assert "Standard input is not UTF-8 throughout" in done.stderr

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_another_encoding_is_no_garbled_text(self, model: Path, encoding: str) -> None:
        done = run_cli("predict", "--model", model, "-", stdin="a good film\na bad one\n".encode(encoding))
        expect_sentence(done, "Standard input is not UTF-8 text", "iconv")
        assert done.stdout == ""

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


# Each ends a line, parts fields or steers the terminal for some reader.
UNRULY = "a\tb\nc\r\nd\x0be\x0cf\x1cg\x1dh\x1ei\x85j\u2028k\u2029l\x1b[31mm\x00n\x9bo"


class TestPredict:
    def test_a_line_a_text_and_three_fields_whatever_a_text_holds(self, model: Path, tmp_path: Path) -> None:
        texts = [UNRULY, "", "[red]a[/red]", " \n "]
        path = tmp_path / "mine.jsonl"  # the one format that can hold them all
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        done = run_cli("predict", "--model", model, "--file", path)
        lines = done.stdout.splitlines()
        assert len(lines) == 4 and all(len(line.split("\t")) == 3 for line in lines)
        assert lines[0].endswith("\ta b c  d e f g h i j k l [31mm n o") and lines[2].endswith("\t[red]a[/red]")
        exact = objects(run_cli("predict", "--model", model, "--json", "--file", path).stdout)
        assert [one["text"] for one in exact] == texts

    def test_a_label_stays_in_its_field(self, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        load = LexicalSAE.from_pretrained
        labels = ["a\tb\n", "c\x1b[31m"]

        def odd(folder: Path) -> LexicalSAE:
            loaded = load(folder)
            loaded.labels = labels
            return loaded

        monkeypatch.setattr(LexicalSAE, "from_pretrained", odd)
        done = run_cli("predict", "--model", model, *TEXTS)
        assert {line.split("\t")[0] for line in done.stdout.splitlines()} <= {"a b ", "c [31m"}
        assert len(done.stdout.splitlines()) == 3
        shown = run_cli("explain", "--model", model, "--target", labels[1], *TEXTS).stdout
        assert "\x1b" not in shown and "= logit of c [31m" in shown

    @pytest.mark.parametrize("command", ["predict", "explain"])
    def test_the_column_of_the_training_is_read_again(self, model: Path, tmp_path: Path, command: str) -> None:
        trained = shutil.copytree(model, tmp_path / "model")
        record = read_json(trained / "lexical_sae.json")
        record["experiment"]["data"]["text_column"] = "review"
        (trained / "lexical_sae.json").write_text(json.dumps(record))
        rehash_model(trained)
        own = write_csv(tmp_path / "own.csv", TEXTS, ["other"] * 3, header=("review", "text"))
        usual = write_csv(tmp_path / "usual.csv", TEXTS, ["other"] * 3)
        for path in (own, usual):
            done = run_cli(command, "--model", trained, "--json", "--file", path)
            assert [one["text"] for one in objects(done.stdout)] == TEXTS
        done = run_cli(command, "--model", trained, "--json", "--file", own, "--column", "text")
        assert [one["text"] for one in objects(done.stdout)] == ["other"] * 3
        found = write_csv(tmp_path / "found.csv", TEXTS, range(3), header=("body", "id"))
        done = run_cli(command, "--model", trained, "--json", "--file", found)
        assert [one["text"] for one in objects(done.stdout)] == TEXTS
        assert "The texts are the column 'body' (--column can name another)." in done.stderr
        neither = write_csv(tmp_path / "none.csv", TEXTS, TEXTS, header=("one", "other"))
        done = run_cli(command, "--model", trained, "--file", neither)
        expect_sentence(done, "has no column 'text', and which other has the texts is not clear", "with --column.")
        assert run_cli(command, "--model", trained, "--file", neither, "--column", "one").exit_code == 0
        done = run_cli(command, "--model", trained, "--file", neither, "--column", "oen")
        expect_sentence(done, "has no column 'oen', only: one, other")

    def test_a_column_is_of_a_file_with_columns(self, model: Path, tmp_path: Path) -> None:
        expect_sentence(run_cli("predict", "--model", model, "--column", "a", "good"), "without a --file")
        (tmp_path / "a.txt").write_text("good\n")
        done = run_cli("predict", "--model", model, "--column", "a", "--file", tmp_path / "a.txt")
        expect_sentence(done, "--column a was given, but", "one text a line; leave it out")

    def test_plain_and_json(self, model: Path) -> None:
        plain = run_cli("predict", "--model", model, *TEXTS)
        found = objects(run_cli("predict", "--model", model, "--json", *TEXTS).stdout)
        assert [list(one) for one in found] == [["text", "label", "probabilities", "truncated"]] * 3
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

    def test_follows_a_shorter_length(self, model: Path) -> None:
        figures = {
            length: json.loads(
                run_cli("evaluate", "--model", model, "--json", "--set", f"data.max_length={length}").stdout
            )
            for length in (4, 24)
        }
        assert figures[24] == json.loads(run_cli("evaluate", "--model", model, "--json").stdout)
        assert figures[4]["active_tokens"]["mean"] < figures[24]["active_tokens"]["mean"]
        assert "48 of 48 test texts were cut to 4 tokens." in figures[4]["notes"]
        done = run_cli("evaluate", "--model", model, "--set", "data.max_length=25")
        expect_sentence(done, "data.max_length is 25, but the model reads 24 tokens")

    def test_a_settings_file_leaves_the_rest_as_in_the_training(
        self, toy_run: ToyRun, model: Path, tmp_path: Path
    ) -> None:
        trained = shutil.copytree(model, tmp_path / "model")
        record = read_json(trained / "lexical_sae.json")
        record["experiment"]["training"]["sparsity_target"] = 0.7
        (trained / "lexical_sae.json").write_text(json.dumps(record))
        rehash_model(trained)
        config = {"data": {f"{part}_file": str(toy_run.data / f"{part}.csv") for part in ("train", "test")}}
        (tmp_path / "data.yaml").write_text(yaml.safe_dump(config))
        found = [
            json.loads(run_cli("evaluate", "--model", trained, "--json", *named).stdout)["separation"]
            for named in ([], ["--config", tmp_path / "data.yaml"], ["--set", "training.sparsity_target=0.1"])
        ]
        assert found[0] == found[1] != found[2]
        (tmp_path / "data.yaml").write_text(yaml.safe_dump({"data": {**config["data"], "max_length": 4}}))
        done = run_cli("evaluate", "--model", trained, "--config", tmp_path / "data.yaml")
        assert "were cut to 4 tokens" in done.stdout

    @pytest.mark.parametrize("name", ["train_file", "test_file"])
    def test_a_relative_file_of_the_training_that_is_not_here(
        self, model: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trained = shutil.copytree(model, tmp_path / "model")
        record = read_json(trained / "lexical_sae.json")
        data = dict.fromkeys(("validation_file", "test_file")) | {"train_file": "mine.csv", name: "mine.csv"}
        record["experiment"]["data"] |= data
        del record["data_files"]  # of older models
        (trained / "lexical_sae.json").write_text(json.dumps(record))
        rehash_model(trained)
        parts = (f"data.{name} mine.csv, from a folder that its record does not name", f"--set data.{name}=", "--file")
        expect_sentence(run_cli("evaluate", "--model", trained), *parts)
        write_csv(tmp_path / "mine.csv", ["charming", "dull"] * 20, ["positive", "negative"] * 20)
        done = run_cli("evaluate", "--model", trained, "--set", f"data.{name}={tmp_path / 'mine.csv'}")
        assert done.exit_code == 0, done.output
        monkeypatch.chdir(tmp_path)
        assert run_cli("evaluate", "--model", trained).exit_code == 0

    def test_a_file_and_other_data(self, model: Path, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "own.csv", ["charming", "dull"], LABELS[::-1])
        done = run_cli("evaluate", "--model", model, "--file", path, "--set", "data.test_file=other.csv")
        expect_sentence(done, "Both --file and --set data.test_file were given", "keep one")

    def test_a_file_without_labels(self, model: Path, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "own.csv", ["charming", "dull"], [1, 2], header=("text", "id"))
        expect_sentence(
            run_cli("evaluate", "--model", model, "--file", path), "has no column 'label'", "data.label_column"
        )

    def test_output_replaces_nothing_but_figures(self, toy_run: ToyRun, model: Path, tmp_path: Path) -> None:
        run = shutil.copytree(toy_run.folder, tmp_path / "run")
        (tmp_path / "thesis.txt").write_text("mine")
        (tmp_path / "mine.json").write_text('{"task": "mine"}')
        owned = [run / "results.json", run / "model" / "lexical_sae.json", run / "model" / "config.json"]
        for path in (tmp_path / "thesis.txt", tmp_path / "mine.json", *owned):
            before = path.read_bytes()
            done = run_cli("evaluate", "--model", run / "model", "--output", path)
            expect_sentence(done, "holds no figures that evaluate wrote, so it is left alone; name another --output")
            assert path.read_bytes() == before
        figures = tmp_path / "figures.json"
        figures.touch()  # as mktemp leaves it
        (tmp_path / "link.json").symlink_to(figures)
        for output in (figures, figures, tmp_path / "link.json"):
            done = run_cli("evaluate", "--model", model, "--json", "--output", output)
            assert done.exit_code == 0 and read_json(figures) == json.loads(done.stdout)
        assert (tmp_path / "link.json").is_symlink() and run_cli("evaluate", "--model", model, "--output", "/dev/null")

    def test_a_failed_measurement_leaves_no_file(self, model: Path, tmp_path: Path) -> None:
        output = tmp_path / "figures.json"
        assert run_cli("evaluate", "--model", model, "--file", tmp_path / "no.csv", "--output", output).exit_code == 2
        assert not output.exists()

    def test_figures_that_cannot_be_written_are_printed_before(self, model: Path) -> None:
        done = run_cli("evaluate", "--model", model, "--json", "--output", "/dev/full")
        expect_sentence(done, "/dev/full cannot be written (No space left on device); name another file with --output")
        assert json.loads(done.stdout)["accuracy"]

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


def fresh(*arguments: object, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own, which streams of the system need."""
    command = [sys.executable, "-m", "splade", *map(str, arguments)]
    return subprocess.run(command, capture_output="stdout" not in how, timeout=300, **how)


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_full_disk_behind_standard_output(model: Path, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = fresh(command, "--model", model, "good", stdout=full, stderr=subprocess.PIPE)
    said = done.stderr.decode()
    assert done.returncode == 2 and said.startswith("The output could not be read or written (No space left on device)")
    assert len(said.splitlines()) == 1


def test_streams_that_are_closed_or_of_few_characters(model: Path) -> None:
    done = fresh("predict", "--model", model, "schön 👍", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stdout.endswith(b"\tsch\\xf6n \\U0001f44d\n")
    command = f"{sys.executable} -m splade predict --model {model} - <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=300)
    assert done.returncode == 2 and done.stderr.startswith(b"Standard input is closed")


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
        "rehash",
    }
    assert all(name in run_cli("--help").stdout for name in ("train", "evaluate", "predict", "explain"))


def test_help_says_what_json_each_command_prints() -> None:
    helps = {command: run_cli(command, "--help").stdout for command in ("evaluate", "predict", "explain")}
    assert "one JSON object a text" not in helps["evaluate"] and "as one JSON object" in helps["evaluate"]
    assert all("one JSON object a text" in helps[command] for command in ("predict", "explain"))


def test_a_change_on_purpose_is_taken_over(model: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(model, tmp_path / "model")
    record = read_json(changed / "lexical_sae.json")
    (changed / "lexical_sae.json").write_text(json.dumps({**record, "labels": ["good", "bad"]}))
    expect_sentence(run_cli("predict", "--model", changed, "charming"), "lexical-sae rehash --model")
    done = run_cli("rehash", "--model", changed)
    assert done.exit_code == 0 and "lexical_sae.json taken as changed on purpose" in done.stdout
    assert run_cli("predict", "--model", changed, "charming").stdout.startswith("bad\t")
    assert "nothing had changed" in run_cli("rehash", "--model", changed).stdout


class TestNumbersForNames:
    """Class names are known by their numbers only where data or settings have ordered them."""

    @pytest.fixture
    def numbers(self, toy_run: ToyRun, tmp_path: Path) -> Path:
        """The test texts with 1 for positive; in the alphabet, positive is 1 too, by chance alone."""
        texts, labels = toy_reviews(30, seed=9)
        return write_csv(tmp_path / "numbers.csv", texts, labels)

    def test_a_model_that_knows_names_alone_refuses_them(self, model: Path, numbers: Path) -> None:
        done = run_cli("evaluate", "--model", model, "--file", numbers)
        expect_sentence(done, "negative, positive", "data.labels")

    def test_a_model_whose_labels_were_ordered_reads_them(self, toy_run: ToyRun, numbers: Path, tmp_path: Path) -> None:
        ordered = toy_run.sets(tmp_path / "out", data__labels=["negative", "positive"], training__max_steps=6)
        assert run_cli("train", *ordered).exit_code == 0
        assert run_cli("evaluate", "--model", tmp_path / "out" / "model", "--file", numbers).exit_code == 0


def test_what_training_found_is_found_again(toy_run: ToyRun, tmp_path: Path) -> None:
    """Columns that were found are on record: a file to predict on or to measure by has the same."""
    texts, labels = toy_reviews(120, seed=3)
    rows = [
        f"{number};{'good' if label else 'bad'};{text}"
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["id;opinion;what people wrote", *rows]) + "\n")
    given = ("data.train_file", "data.validation_file", "data.test_file")
    settings = [each for each in toy_run.settings if not each.startswith((*given, "output_dir"))]
    out = tmp_path / "out"
    done = run_cli("train", path, *sets([*settings, f"output_dir={out}", "training.max_steps=6"]))
    assert done.exit_code == 0, done.output
    assert "column 'what people wrote'" in done.stderr and "column 'opinion'" in done.stderr
    assert len(run_cli("predict", "--model", out / "model", "--file", path).stdout.splitlines()) == 120
    assert run_cli("evaluate", "--model", out / "model", "--file", path).exit_code == 0
    path.write_text(path.read_text() + "120;good;one more of them\n")
    expect_sentence(run_cli("evaluate", "--model", out / "model"), "has changed since the model was trained", "--file")


def test_a_file_taken_for_a_text_is_said(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.csv").write_text("text\ngood\n")
    monkeypatch.chdir(tmp_path)
    done = run_cli("predict", "--model", model, "mine.csv")
    assert done.stdout.endswith("\tmine.csv\n") and "there is a file of that name" in done.stderr
