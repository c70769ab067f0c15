"""`lexical-sae evaluate`: which texts it measures a model on, and what it writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from splade.evaluation.completeness import Completeness
from splade.models.rehash import rehash_model
from tests.builders import toy_reviews
from tests.runs import LABELS, ToyRun, expect_sentence, read_json, run_cli, sets, write_csv


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
        done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={path}", "--json")
        assert done.exit_code == 0 and json.loads(done.stdout)["evaluated"] == 3

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
        done = run_cli("evaluate", "--model", folder, "--file", path, "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["evaluated"] == 3

    def test_a_set_named_takes_the_place_of_the_trainings_files(self, model: Path, tmp_path: Path) -> None:
        for part, texts in (("train", ["charming", "dull"]), ("test", ["witty", "dull", "charming", "tedious"])):
            (tmp_path / "root" / "sst2").mkdir(parents=True, exist_ok=True)
            labels = ["negative" if text in ("dull", "tedious") else "positive" for text in texts]
            write_csv(tmp_path / "root" / "sst2" / f"{part}.csv", texts, labels)
        named = ("--set", f"data.root={tmp_path / 'root'}", "--set", "data.dataset_name=sst2")
        done = run_cli("evaluate", "--model", model, *named, "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["evaluated"] == 4

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


def test_what_was_measured_is_remembered_and_measured_anew_on_request(
    toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))
    command = ["evaluate", "--model", str(toy_run.folder / "model"), "--measures", "identity,sparsity", "--json"]
    first = run_cli(*command)
    [place] = (tmp_path / "cache" / "measures").iterdir()
    identity, sparsity = sorted(place.iterdir())
    assert (identity.name[:9], sparsity.name[:9]) == ("identity-", "sparsity-")
    sparsity.unlink()  # as if it had been interrupted
    kept = identity.stat().st_mtime_ns
    again = run_cli(*command)
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert identity.stat().st_mtime_ns == kept and sparsity.exists()
    assert json.loads(run_cli(*command, "--anew").stdout) == json.loads(first.stdout)
    assert identity.stat().st_mtime_ns > kept
    kept = identity.stat().st_mtime_ns
    one = run_cli("evaluate", "--model", str(toy_run.folder / "model"), "--measures", "sparsity", "--anew")
    assert identity.stat().st_mtime_ns == kept  # it was not asked for
    assert "active tokens" in one.stdout and "error" not in one.stdout  # nor is it printed


def test_stopped_it_says_what_is_kept_and_how_to_go_on(
    toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(measure: Completeness) -> None:
        measure.parts.keep("half", 1)
        raise KeyboardInterrupt

    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))
    command = ["evaluate", "--model", str(toy_run.folder / "model"), "--measures", "identity,completeness,sparsity"]
    with monkeypatch.context() as patched:
        patched.setattr(Completeness, "result", stopped)
        first, anew = run_cli(*command), run_cli(*command, "--anew")
    for done in (first, anew):
        assert done.exit_code == 130 and not done.stdout
        assert (
            "Stopped while measuring; kept: 2 of 3 measures, 1 part of 'completeness'. The same command" in done.stderr
        )
    assert first.stderr.endswith("The same command goes on from there.\n")
    assert anew.stderr.endswith("The same command goes on from there, without --anew, which would forget it.\n")
    assert run_cli(*command).exit_code == 0


def test_a_cache_that_cannot_be_written_is_done_without(
    toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "file"))
    done = run_cli("evaluate", "--model", str(toy_run.folder / "model"), "--measures", "identity", "--json")
    assert "dla" in json.loads(done.stdout)
