"""Everything a user can get wrong ends in one sentence and exit code 2, without a traceback, and nothing is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from splade.models import saving
from splade.pipelines import outputs
from splade.training import checkpoint
from splade.training.checkpoint import TENSORS, list_checkpoints
from tests.runs import LABELS, ToyRun, expect_sentence, run_cli, sets, tiny_config, write_csv, write_reviews


@pytest.fixture(scope="module")
def model(toy_run: ToyRun) -> Path:
    return toy_run.folder / "model"


def refuse(run: ToyRun, output: Path, *parts: str, **changes: object) -> None:
    """A training with these settings is refused in one sentence before it writes anything."""
    expect_sentence(run_cli("train", *run.sets(output, **changes)), *parts)
    assert not output.exists()


class TestSettings:
    @pytest.mark.parametrize(
        ("setting", "parts"),
        [
            ("training.epoch=3", ("--set", "unknown key 'training.epoch'", "Did you mean 'epochs'?")),
            ("traning.epochs=3", ("unknown key 'traning'", "Did you mean 'training'?")),
            ("training.epochs=many", ("training.epochs must be a whole number", "'many'")),
            ("training.epochs=0", ("training.epochs must be greater than 0",)),
            ("training.learning_rate=.nan", ("training.learning_rate must be a finite number",)),
            (
                "training.recipe=cat",
                ("must be one of cajt, lexical_sae, cis, baseline", "Did you mean 'cajt'?"),
            ),
            ("model.support=neighborhood", ("model.support", "neighbourhood")),
            ("data.max_length=2", ("data.max_length must be at least 3",)),
            ("seed=99999999999999999999", ("seed must be less than",)),
            ("training.epochs", ("section.key=value was expected",)),
        ],
    )
    def test_key_type_and_choice(self, toy_run: ToyRun, tmp_path: Path, setting: str, parts: tuple[str, ...]) -> None:
        output = tmp_path / "out"
        expect_sentence(run_cli("train", *toy_run.sets(output), "--set", setting), *parts)
        assert not output.exists()

    def test_both_resume_and_overwrite(self, toy_run: ToyRun, tmp_path: Path) -> None:
        done = run_cli("train", *toy_run.sets(tmp_path / "out"), "--resume", "--overwrite")
        expect_sentence(done, "Both --resume and --overwrite", "begin anew")

    def test_an_output_that_cannot_be_written_is_found_before_the_work(self, model: Path, tmp_path: Path) -> None:
        for output in (tmp_path, tmp_path / ("long" * 100)):
            done = run_cli("evaluate", "--model", model, "--set", "data.train_file=none.csv", "--output", output)
            expect_sentence(done, "cannot be written", "--output")

    def test_standard_input_beside_other_texts(self, model: Path) -> None:
        expect_sentence(run_cli("predict", "--model", model, "-", "good", stdin="x"), "'-' (standard input)")

    def test_a_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "mine.yaml").write_text("training:\n  batchsize: 8\n")
        expect_sentence(run_cli("train", "--config", tmp_path / "mine.yaml"), "mine.yaml", "Did you mean 'batch_size'?")
        expect_sentence(run_cli("train", "--config", tmp_path / "none.yaml"), "There is no settings file", "none.yaml")

    def test_a_run_too_short_for_both_phases(self, toy_run: ToyRun, tmp_path: Path) -> None:
        parts = ("3 step(s) of which 1 would be warm-up", "use more training texts or epochs")
        refuse(toy_run, tmp_path / "out", *parts, training__max_steps=3)

    def test_a_lexicon_for_other_labels(self, toy_run: ToyRun, model: Path, tmp_path: Path) -> None:
        expect_sentence(
            run_cli("evaluate", "--model", model, "--set", "evaluation.lexicon=nowhere.tsv"),
            "evaluation.lexicon names 'nowhere.tsv', which is no file",
        )

    def test_an_output_that_is_a_file(self, toy_run: ToyRun, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        for output in (tmp_path / "file", tmp_path / "file" / "below"):
            expect_sentence(run_cli("train", *toy_run.sets(output)), "file")
        assert (tmp_path / "file").read_text() == "mine"


class TestData:
    def train_on(self, run: ToyRun, tmp_path: Path, *parts: str, test: bool = False, **columns: list[object]) -> None:
        """Refuse a training or test file with these columns."""
        path = write_csv(tmp_path / "own.csv", *columns.values(), header=list(columns))  # type: ignore[arg-type]
        which = "data__test_file" if test else "data__train_file"
        refuse(run, tmp_path / "out", *parts, **{which: str(path)})

    def test_a_missing_column(self, toy_run: ToyRun, tmp_path: Path) -> None:
        parts = (
            "own.csv has no column 'text'",
            "txt (2 different short values)",
            "data.text_column",
            "Did you mean 'txt'?",
        )
        self.train_on(toy_run, tmp_path, *parts, txt=["a", "b"], label=LABELS)

    def test_an_unknown_label_in_the_test_file(self, toy_run: ToyRun, tmp_path: Path) -> None:
        parts = ("the label 'positve' in row 2", "negative, positive", "Did you mean 'positive'?")
        self.train_on(toy_run, tmp_path, *parts, test=True, text=["a", "b"], label=["negative", "positve"])

    @pytest.mark.parametrize("label", ["", "nan"])
    def test_a_missing_label(self, toy_run: ToyRun, tmp_path: Path, label: str) -> None:
        self.train_on(toy_run, tmp_path, "has no label in row 2", text=["a", "b"], label=["negative", label])

    def test_one_class(self, toy_run: ToyRun, tmp_path: Path) -> None:
        parts = ("texts of 1 class, but a classifier needs two or more", "data.label_column")
        self.train_on(toy_run, tmp_path, *parts, text=["a", "b"], label=["negative"] * 2)

    def test_no_rows_and_no_bytes(self, toy_run: ToyRun, tmp_path: Path) -> None:
        self.train_on(toy_run, tmp_path, "has no rows", text=[], label=[])
        (tmp_path / "empty.csv").write_text("")
        refuse(toy_run, tmp_path / "out", "empty.csv", "none", data__train_file=str(tmp_path / "empty.csv"))

    def test_a_missing_file(self, toy_run: ToyRun, tmp_path: Path) -> None:
        refuse(
            toy_run, tmp_path / "out", "There is no file", "tran.csv", data__train_file=str(toy_run.data / "tran.csv")
        )

    def test_a_hub_out_of_reach(self, toy_run: ToyRun, tmp_path: Path) -> None:
        done = run_cli("train", "--set", "data.dataset_name=nobody/nothing", "--set", f"output_dir={tmp_path / 'out'}")
        expect_sentence(done, "nobody/nothing", "Hub")
        assert not (tmp_path / "out").exists()

    def test_labels_that_changed_since_training(self, model: Path, tmp_path: Path) -> None:
        data = write_reviews(tmp_path, 20, 20, 20)
        for name in ("train", "validation", "test"):
            write_csv(data / f"{name}.csv", ["a", "b"] * 10, ["bad", "good"] * 10)
        files = sets([f"data.{name}_file={data / name}.csv" for name in ("train", "validation", "test")])
        parts = (
            "has the label 'bad' in row 1",
            "the known classes are: negative, positive; the model can give no other",
        )
        expect_sentence(run_cli("evaluate", "--model", model, *files), *parts)


class TestBackbone:
    def test_a_hub_out_of_reach(self, toy_run: ToyRun, tmp_path: Path) -> None:
        refuse(toy_run, tmp_path / "out", "nobody/nothing", "Hub", "minilm", model__name="nobody/nothing")

    def test_pickled_weights_are_not_loaded(self, toy_run: ToyRun, tmp_path: Path) -> None:
        folder = shutil.copytree(toy_run.backbone, tmp_path / "pickled")
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        parts = ("no safetensors weights", "pickled", "save_pretrained")
        refuse(toy_run, tmp_path / "out", *parts, model__name=str(folder))

    def test_a_missing_folder(self, toy_run: ToyRun, tmp_path: Path) -> None:
        refuse(toy_run, tmp_path / "out", "does not exist", model__name=str(tmp_path / "nowhere"))


class TestSavedModel:
    def test_damaged_weights(self, model: Path, tmp_path: Path) -> None:
        folder = shutil.copytree(model, tmp_path / "model")
        content = bytearray((folder / "model.safetensors").read_bytes())
        content[-1] ^= 1
        (folder / "model.safetensors").write_bytes(content)
        for command in (["predict", "--model", folder, "good"], ["evaluate", "--model", folder]):
            expect_sentence(run_cli(*command), "model.safetensors is damaged", "does not match its hash")

    def test_no_model(self, tmp_path: Path) -> None:
        expect_sentence(
            run_cli("explain", "--model", tmp_path, "good"), "is not a saved Lexical-SAE model", "output_dir"
        )

    def test_an_unknown_target(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--target", "postive", "good")
        expect_sentence(done, "no label 'postive'; its labels are: negative, positive", "Did you mean 'positive'?")

    def test_texts_given_twice_or_unreadable(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "latin.txt").write_bytes("schön".encode("latin-1"))
        done = run_cli("predict", "--model", model, "--file", tmp_path / "latin.txt")
        expect_sentence(done, "latin.txt is not UTF-8 text")
        done = run_cli("predict", "--model", model, "--file", tmp_path / "latn.txt")
        expect_sentence(done, "There is no file", "latn.txt; check the path. Did you mean 'latin.txt'?")
        expect_sentence(run_cli("predict", "--model", model, "--file", tmp_path), "is a folder, where a file")
        (tmp_path / "a.jsonl").write_text('{"tokens": ["good"]}')
        done = run_cli("predict", "--model", model, "--file", tmp_path / "a.jsonl")
        expect_sentence(done, "has no column 'text'", "tokens (1 different words); name it with --column.")
        (tmp_path / "a.conll").write_text("good O")
        done = run_cli("explain", "--model", model, "--file", tmp_path / "a.conll")
        expect_sentence(done, "ends in .conll, which classification does not read; name a file for classification")
        done = run_cli("predict", "--model", model, "--file", tmp_path / "latin.txt", "good")
        expect_sentence(done, "Both texts and --file were given")

    def test_empty_and_over_long_texts_predict(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--json", "", "good " * 5000)
        empty, long = map(json.loads, done.stdout.splitlines())
        assert done.exit_code == 0 and empty["tokens"] == [] and len(long["words"]) == 5000

    def test_a_cut_text_is_said(self, model: Path) -> None:
        assert "its end has no say" in run_cli("explain", "--model", model, "good " * 5000).stdout
        for command in (["predict"], ["predict", "--json"], ["explain", "--json"]):
            done = run_cli(*command, "--model", model, "good " * 5000, "good")
            assert done.stderr == "1 text(s) were cut to the 24 tokens the model reads.\n"
            assert len(done.stdout.splitlines()) == 2


class TestCheckpoints:
    @pytest.fixture
    def folder(self, toy_run: ToyRun, tmp_path: Path) -> Path:
        return shutil.copytree(toy_run.folder, tmp_path / "out")

    def test_all_damaged(self, toy_run: ToyRun, folder: Path) -> None:
        for path in list_checkpoints(folder / "checkpoints"):
            (path / TENSORS).write_bytes(b"")
        done = run_cli("train", *toy_run.sets(folder), "--resume")
        expect_sentence(done, "nothing to resume", "2 checkpoint(s), all damaged")
        assert (folder / "results.json").exists() and (folder / "model").exists()

    def test_none(self, toy_run: ToyRun, tmp_path: Path) -> None:
        done = run_cli("train", *toy_run.sets(tmp_path / "out"), "--resume")
        expect_sentence(done, "nothing to resume", "found no checkpoint")
        assert not (tmp_path / "out").exists()

    def test_of_another_run(self, toy_run: ToyRun, folder: Path) -> None:
        before = (folder / "config.yaml").read_bytes()
        done = run_cli("train", *toy_run.sets(folder, seed=7), "--resume")
        expect_sentence(done, "belong to a run with other settings or data")
        assert (folder / "config.yaml").read_bytes() == before


class TestFullDisk:
    """Wherever the disk fills up, a sentence says so, and what was saved before can be gone on from."""

    def check(self, run: ToyRun, output: Path, *parts: str) -> None:
        expect_sentence(run_cli("train", *run.sets(output)), "No space left on device", "--resume", *parts)
        assert not list(output.rglob(".writing*"))

    def test_under_a_checkpoint(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        write = checkpoint.save_file
        calls: list[None] = []

        def second_fails(*arguments: object) -> None:
            calls.append(None)
            (write if len(calls) == 1 else full_disk)(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(checkpoint, "save_file", second_fails)
        self.check(toy_run, tmp_path, "The checkpoint of step 6", "earlier checkpoints are untouched")
        assert [path.name for path in list_checkpoints(tmp_path / "checkpoints")] == ["step_00000003"]

    def test_under_the_model(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        monkeypatch.setattr(saving, "save_file", full_disk)
        self.check(toy_run, tmp_path, "The model could not be written")
        assert len(list_checkpoints(tmp_path / "checkpoints")) == 2

    def test_under_the_report(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        monkeypatch.setattr(outputs, "write_report", full_disk)
        self.check(toy_run, tmp_path, "a file could not be read or written", "untouched")
        assert (tmp_path / "model").exists()


def test_a_programming_error_is_not_dressed_up(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a user can cause is a sentence; a fault of ours must show where it is."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("splade.inference.predict", broken)
    assert isinstance(run_cli("predict", "--model", model, "good").exception, ZeroDivisionError)


def test_the_sentences_of_a_real_config_are_one_line(tmp_path: Path, toy_run: ToyRun) -> None:
    config = tiny_config(toy_run.data, toy_run.backbone, tmp_path / ("long folder name " * 8))
    shutil.copytree(toy_run.folder, config.output_dir)
    done = run_cli("train", *toy_run.sets(Path(config.output_dir)))
    assert len(done.stderr.strip().splitlines()) == 1  # not wrapped at the width of a terminal
