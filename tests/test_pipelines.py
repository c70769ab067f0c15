"""A run from end to end: what it leaves, that it repeats, and that nothing fitted has seen the test texts."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from rich.console import Console

from splade import run_folder
from splade.config.load import load_config
from splade.data.loader import load_dataset
from splade.errors import ConfigError, DataError
from splade.inference import predict_batch
from splade.models import support
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import (
    dense_trainer,
    measure_again,
    outputs,
    preparation,
    prepare,
    run_experiment,
    setup_and_train,
)
from splade.run_folder import LOCK, OWNER, check_output_dir, held, run_id, write_config
from splade.training import loop
from splade.training.checkpoint import Checkpoint
from splade.training.loop import Trainer
from splade.training.recipes import resolved
from splade.training.resume import restore
from tests.builders import toy_reviews
from tests.runs import (
    LABELS,
    ToyRun,
    contents,
    expect_sentence,
    read_json,
    run_cli,
    tiny_config,
    weights,
    write_csv,
    write_reviews,
)

FILES = ("config.yaml", "model", "checkpoints", "metrics.jsonl", "measures", "results.json", "report.html", "README.md")


class TestWhatARunLeaves:
    def test_every_file_of_the_design_and_no_other(self, toy_run: ToyRun) -> None:
        assert {path.name for path in toy_run.folder.iterdir()} == {*FILES, OWNER, LOCK}

    def test_results_have_their_documented_keys(self, toy_run: ToyRun) -> None:
        results = read_json(toy_run.folder / "results.json")
        assert results.keys() >= {
            *("task", "dataset", "backbone", "recipe", "support", "seed", "versions", "seconds", "peak_rss_mb"),
            *("accuracy", "macro_f1", "dla", "active_tokens", "sparsity", "vocab_size", "completeness"),
            *("separation", "grounding", "labels", "samples", "notes"),
        }
        assert (results["task"], results["dataset"], results["support"]) == ("classification", "train", "neighbourhood")
        assert results["seconds"].keys() >= {"train", "eval"} and results["seconds"]["train"] > 0
        assert results["dla"].keys() == {"max_error", "mean_error"} and results["dla"]["max_error"] <= 1e-4
        assert results["active_tokens"].keys() >= {"mean", "p50", "p95"}
        assert list(results["completeness"]) == ["0.01", "0.05", "0.1", "0.2", "0.5"]
        for figures in results["completeness"].values():
            assert figures.keys() == {"accuracy", "kl", "random_accuracy"}
        assert results["separation"].keys() >= {"cosine", "jaccard"}
        assert results["grounding"].keys() >= {"input_share", "frozen_share", "self_activation"}
        assert results["samples"] == {"train": 128, "validation": 48, "test": 48}
        assert results["labels"] == LABELS

    def test_figures_a_label_add_up(self, toy_run: ToyRun) -> None:
        results = read_json(toy_run.folder / "results.json")
        assert list(results["per_class"]) == LABELS
        for number, of in enumerate(results["per_class"].values()):
            assert of.keys() == {"precision", "recall", "f1", "support", "predicted"}
            assert sum(results["confusion"][number]) == of["support"] == 24
            assert sum(row[number] for row in results["confusion"]) == of["predicted"]
        assert np.trace(results["confusion"]) / 48 == pytest.approx(results["accuracy"])
        assert results["accuracy_interval"]["low"] < results["accuracy"] < results["accuracy_interval"]["high"]
        assert results["grounding"]["heaviest"].keys() == {"token", "share", "rows", "by_class"}

    def test_findings_end_in_the_notes_the_terminal_and_the_report(self, toy_run: ToyRun) -> None:
        """48 test texts are too few, which is one at least."""
        results = read_json(toy_run.folder / "results.json")
        assert results["findings"] and results["notes"][-len(results["findings"]) :] == results["findings"]
        (few,) = (note for note in results["findings"] if note.startswith("With 48 test texts, accuracy"))
        assert f"Note: {few}" in toy_run.result.stdout
        assert few in (toy_run.folder / "report.html").read_text(encoding="utf-8")
        assert few in (toy_run.folder / "README.md").read_text(encoding="utf-8")

    def test_measured_again_nothing_is_noted_twice_and_nothing_stale_is_kept(
        self, toy_run: ToyRun, tmp_path: Path
    ) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "run")
        earlier = read_json(folder / "results.json")
        stale, kept = "The token 'x' carries 99.0 % of all contribution.", "Some texts were cut."
        earlier |= {"findings": [stale], "notes": [kept, stale]}
        (folder / "results.json").write_text(json.dumps(earlier), encoding="utf-8")
        config = dataclasses.replace(load_config(folder / "config.yaml"), output_dir=str(folder))
        results = measure_again(config, console=Console(quiet=True))
        assert results["notes"] == [kept, *results["findings"]] and stale not in results["notes"]

    def test_the_toy_reviews_are_learnt(self, toy_run: ToyRun) -> None:
        """Below this the other tests would compare models that know nothing."""
        assert read_json(toy_run.folder / "results.json")["accuracy"] > 0.7

    def test_the_settings_read_back(self, toy_run: ToyRun) -> None:
        assert load_config(toy_run.folder / "config.yaml") == resolved(load_config(None, toy_run.settings))

    def test_the_model_loads_and_its_accuracy_is_the_reported_one(self, toy_run: ToyRun) -> None:
        config = load_config(toy_run.folder / "config.yaml")
        model, data = LexicalSAE.from_pretrained(toy_run.folder / "model"), load_dataset(config.data, config.seed)
        results = read_json(toy_run.folder / "results.json")
        for split, reported in ((data.test, results["accuracy"]), (data.validation, results["validation"]["accuracy"])):
            found = [p.label for p in predict_batch(model, split.texts)]
            right = np.mean([label == data.label_names[gold] for label, gold in zip(found, split.labels, strict=True)])
            assert right == pytest.approx(reported, abs=1e-6)

    def test_the_report_needs_nothing_else_and_explains_texts(self, toy_run: ToyRun) -> None:
        page = (toy_run.folder / "report.html").read_text(encoding="utf-8")
        assert "<svg" in page and 'src="http' not in page and 'href="http' not in page
        texts = load_dataset(load_config(toy_run.folder / "config.yaml").data, 42).test.texts
        assert sum(text.split()[-2] in page for text in texts) > 10

    def test_the_model_card_is_readable(self, toy_run: ToyRun) -> None:
        card = (toy_run.folder / "README.md").read_text(encoding="utf-8")
        assert card.startswith("---\n") and yaml.safe_load(card.split("---")[1])


class TestRepeats:
    def test_the_same_seed_gives_the_same_bytes(self, toy_run: ToyRun, tmp_path: Path) -> None:
        run = setup_and_train(toy_run.config(tmp_path)).prepared
        assert weights(tmp_path) == weights(toy_run.folder)
        loaded = LexicalSAE.from_pretrained(tmp_path / "model")
        batch = next(iter(run.test.in_order(48, torch.device("cpu"))))
        with torch.no_grad():
            kept, saved = (run.test.predict(model, batch).logits for model in (run.model, loaded))
        assert torch.equal(kept, saved)

    def test_another_seed_gives_others(self, toy_run: ToyRun, tmp_path: Path) -> None:
        setup_and_train(toy_run.config(tmp_path, seed=43))
        assert weights(tmp_path) != weights(toy_run.folder)

    def test_thresholds_start_from_a_seeded_sample_for_the_target_asked_for(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(preparation, "CALIBRATION_ROWS", 16)
        starts = []
        for seed, target in ((1, 1), (1, 1), (2, 1), (1, 2)):
            run = prepare(toy_run.config(tmp_path, seed=seed, training__active_target=target))
            starts.append(run.model.encoder.gate.theta[0].item())
        assert starts[0] == starts[1] != starts[2]
        assert starts[3] < starts[0]  # more tokens are to be active

    def test_a_dry_run_leaves_out_what_takes_long_and_finds_nothing_wrong(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def too_long(*_: object) -> None:
            raise AssertionError("this takes long")

        monkeypatch.setattr(support, "_nearest_words", too_long)
        monkeypatch.setattr(preparation, "calibrate", too_long)
        config = toy_run.config(tmp_path, model__support="neighbourhood")
        ready = prepare(config, dry_run=True)
        assert ready.trainer.total == 16
        with pytest.raises(IndexError, match="out of range"):  # and cannot be mistaken for one that is ready
            ready.trainer.advance()
        with pytest.raises(AssertionError, match="takes long"):
            prepare(config)

    def test_the_texts_explained_in_the_report_follow_the_seed(self, toy_run: ToyRun, tmp_path: Path) -> None:
        run, explained = prepare(toy_run.config(tmp_path, evaluation__explain_samples=3)), []
        for seed in (1, 1, 2):
            found = outputs._explained(run.model, run.test, dataclasses.replace(run.config, seed=seed))
            explained.append([each.text for each in found])
        assert explained[0] == explained[1] != explained[2] and len(explained[0]) == 3

    def test_the_dense_baseline_starts_alike_whatever_was_drawn_before(self, toy_run: ToyRun, tmp_path: Path) -> None:
        run, starts = prepare(toy_run.config(tmp_path)), []
        for drawn in range(2):
            torch.manual_seed(drawn)
            starts.append(dense_trainer(run, tmp_path / "dense").model.head.fc1.weight)  # type: ignore[union-attr]
        assert torch.equal(*starts)

    def test_other_test_texts_change_nothing_that_is_trained(self, toy_run: ToyRun, tmp_path: Path) -> None:
        other = shutil.copytree(toy_run.data, tmp_path / "data")
        write_csv(other / "test.csv", ["unheard zebras", "boring good " * 40, ""], [*LABELS, "positive"])
        setup_and_train(tiny_config(other, toy_run.backbone, tmp_path / "out"))
        assert weights(tmp_path / "out") == weights(toy_run.folder)

    def test_whatever_is_lost_comes_back_with_resume(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def restore_later(trainer: Trainer, checkpoint: Checkpoint) -> None:
            restore(trainer, checkpoint)
            trainer.seconds += 1000  # the session before was a long one

        monkeypatch.setattr(loop, "restore", restore_later)
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        for name in set(FILES) - {"checkpoints", "metrics.jsonl"}:
            shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
        run_experiment(toy_run.config(folder), resume=True)
        before, after = contents(toy_run.folder), contents(folder)
        assert after.keys() == before.keys()
        same = [name for name in before if name.startswith(("model/", "metrics"))]
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        old, new = (read_json(where / "results.json") for where in (toy_run.folder, folder))
        for figure in ("accuracy", "dla", "active_tokens", "completeness", "separation", "grounding", "constraint"):
            assert old[figure] == new[figure]
        assert new["seconds"]["train"] > 1000 and 0 < new["seconds"]["setup"] < 1000


class TestOutputFolder:
    def test_an_earlier_run_is_refused_and_untouched(self, toy_run: ToyRun) -> None:
        before = contents(toy_run.folder)
        with pytest.raises(ConfigError, match=r"holds a run \(results.json, model, checkpoints\)"):
            setup_and_train(toy_run.config(toy_run.folder))
        assert contents(toy_run.folder) == before

    def test_an_earlier_run_outlives_a_mistake_in_the_new_one(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """With --overwrite it goes only when data, backbone and settings have proved usable."""
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        before = contents(folder)
        with pytest.raises(DataError):
            setup_and_train(toy_run.config(folder, data__test_file="nowhere.csv"), overwrite=True)
        assert contents(folder) == before

    def test_overwriting_leaves_what_no_run_writes(self, toy_run: ToyRun, tmp_path: Path) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        (folder / "my notes.txt").write_text("mine")
        setup_and_train(toy_run.config(folder, training__max_steps=5, training__eval_every=5), overwrite=True)
        assert not (folder / "results.json").exists() and (folder / "my notes.txt").exists()
        assert {path.name for path in (folder / "checkpoints").iterdir()} == {"step_00000005"}

    def test_a_file_is_not_a_folder(self, toy_run: ToyRun, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match="which is a file; name a folder"):
            check_output_dir(toy_run.config(tmp_path / "file"), resume=False, overwrite=False)

    def test_a_run_that_came_to_nothing_is_no_run(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """Killed before its first checkpoint, it can neither be resumed nor is there anything to lose."""
        shutil.copytree(toy_run.folder, tmp_path / "out")
        for name in ("model", "checkpoints"):
            shutil.rmtree(tmp_path / "out" / name)
        (tmp_path / "out" / "results.json").unlink()
        (tmp_path / "out" / "checkpoints" / ".writing_step_00000003").mkdir(parents=True)
        check_output_dir(toy_run.config(tmp_path / "out"), resume=False, overwrite=False)

    @pytest.mark.parametrize("overwrite", [False, True])
    @pytest.mark.parametrize("name", ["README.md", "report.html", "config.yaml", "results.json", "model", "dense"])
    def test_what_is_somebody_elses_is_never_replaced(
        self, toy_run: ToyRun, tmp_path: Path, name: str, overwrite: bool
    ) -> None:
        if name in ("model", "dense"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "theirs.bin").write_text("mine")
        else:
            (tmp_path / name).write_text("{}")
        before = contents(tmp_path)
        for resume in (False, True):
            with pytest.raises(ConfigError, match=f"holds {name}, which no run wrote .* move it, or choose another"):
                run_experiment(toy_run.config(tmp_path), overwrite=overwrite and not resume, resume=resume)
        assert contents(tmp_path) == before

    def test_somebody_elses_files_within_a_run_stay(self, toy_run: ToyRun, tmp_path: Path) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        own = [folder / part / "mine.txt" for part in ("model", "checkpoints", "dense")]
        for path in own:
            path.parent.mkdir(exist_ok=True)
            path.write_text("mine")
        run_experiment(toy_run.config(folder, training__max_steps=5, training__eval_every=5), overwrite=True)
        assert all(path.read_text() == "mine" for path in own)

    def test_the_earlier_model_goes_only_when_the_new_one_is_whole(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        before = contents(folder)
        config = toy_run.config(folder, seed=1)
        real = Trainer.advance

        def interrupted(self: Trainer, *args: object) -> object:
            if self.step == 2:
                raise KeyboardInterrupt
            return real(self, *args)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "advance", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run_experiment(config, overwrite=True)
        results = [name for name in before if name.startswith(("model", "results", "report", "README", "config"))]
        assert len(results) > 5 and all(contents(folder).get(name) == before[name] for name in results)
        run_experiment(config, overwrite=True)
        assert read_json(folder / "results.json")["seed"] == 1
        assert load_config(folder / "config.yaml").seed == 1

    def test_two_runs_at_once_are_one_too_many(self, toy_run: ToyRun, tmp_path: Path) -> None:
        config = toy_run.config(tmp_path / "out")
        with (
            held(Path(config.output_dir)),
            pytest.raises(ConfigError, match=rf"written to by another run \(process {os.getpid()} on .*; wait for it"),
        ):
            run_experiment(config)
        assert run_experiment(config)["accuracy"] > 0.5  # the lock is gone with its owner

    def test_the_lock_of_a_killed_process_holds_nobody_up(self, toy_run: ToyRun, tmp_path: Path) -> None:
        config = toy_run.config(tmp_path / "out")
        holding = (
            "import os, sys, pathlib; from splade.run_folder import held\n"
            "with held(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    os.kill(os.getpid(), 9)"
        )
        done = subprocess.run([sys.executable, "-c", holding, config.output_dir], capture_output=True, text=True)
        assert done.stdout == "held\n" and (tmp_path / "out" / LOCK).exists()
        setup_and_train(toy_run.config(tmp_path / "out", training__max_steps=5))

    @pytest.mark.parametrize("place", ["/proc/foo", "file/out", "loop/out", "loop"])
    def test_what_cannot_be_written_is_refused_at_once(self, toy_run: ToyRun, tmp_path: Path, place: str) -> None:
        (tmp_path / "file").write_text("")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        for dry_run in (["--dry-run"], []):
            done = run_cli("train", *toy_run.sets(tmp_path / place), *dry_run)
            expect_sentence(done, "output_dir is", "cannot be written to", "choose another")
            assert "Data:" not in done.stderr

    def test_a_mistake_leaves_no_folder(self, toy_run: ToyRun, tmp_path: Path) -> None:
        with pytest.raises(DataError):
            run_experiment(toy_run.config(tmp_path / "a" / "b", data__test_file="nowhere.csv"))
        assert not (tmp_path / "a").exists()


class TestOptions:
    def test_dense_baseline_and_lexicon(self, toy_run: ToyRun, tmp_path: Path) -> None:
        (tmp_path / "ratings.tsv").write_text("good\t2\ncharming\t2\nawful\t-2\ndull\t-1.5\n")
        changes = {"evaluation__dense_baseline": True, "evaluation__lexicon": str(tmp_path / "ratings.tsv")}
        done = run_cli("train", *toy_run.sets(tmp_path / "out", training__max_steps=6, **changes))
        assert done.exit_code == 0, done.output
        results = read_json(tmp_path / "out" / "results.json")
        assert results["dense_accuracy"] == results["dense"]["accuracy"] and 0 <= results["dense"]["macro_f1"] <= 1
        assert results["dense"]["seconds_per_step"] > 0
        assert list(results["dense"]["per_class"]) == LABELS and len(results["dense"]["confusion"]) == 2
        assert "dense head's" in done.stdout
        assert results["grounding"]["lexicon"]["name"].endswith("ratings.tsv")
        said = " ".join(done.stdout.replace("│", " ").split())  # the width of the terminal breaks cells
        assert "dense head accuracy" in said and "seconds a step" in said and "of the right sign" in said
        assert [path.name for path in (tmp_path / "out" / "dense").iterdir()] == ["metrics.jsonl"]

    def test_an_accuracy_that_imbalance_makes_is_said_to_be_none(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """One text in sixteen is called negative, whatever it says: there is only the frequent label to learn."""
        data = tmp_path / "data"
        for seed, name in enumerate(("train", "validation", "test")):
            write_csv(data / f"{name}.csv", toy_reviews(96, seed)[0], [LABELS[n % 16 > 0] for n in range(96)])
        results = run_experiment(tiny_config(data, toy_run.backbone, tmp_path / "out"))
        assert results["accuracy"] > 0.85 and results["macro_f1"] < 0.6
        assert any("than the 93.8 % of always answering 'positive'" in note for note in results["notes"])

    def test_the_dense_baseline_is_warmed_up_too(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"training__mlm_warmup_steps": 2, "training__max_steps": 5, "evaluation__dense_baseline": True}
        run_experiment(toy_run.config(tmp_path, **changes))
        own, dense = ((tmp_path / part / "metrics.jsonl").read_text().splitlines()[0] for part in ("", "dense"))
        assert own == dense and '"mlm_step": 2' in own  # loss and all: the very same warm-up

    def test_without_sparsity_the_note_is_about_cross_entropy_alone(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"training__loss_weights__sparsity": 0.0, "training__target_accuracy": 0.999}  # out of reach
        notes = setup_and_train(toy_run.config(tmp_path, training__max_steps=5, **changes)).prepared.notes
        assert any("the constraint on cross-entropy;" in note and "active_target" not in note for note in notes)

    def test_cut_texts_are_counted_and_said(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"data__max_length": 8, "training__max_steps": 5, "training__batch_size": None}
        results = run_experiment(toy_run.config(tmp_path, **changes))
        cut = results["training"]["truncated"]
        assert cut > 0 and f"{cut} of 128 training texts were cut to 8 tokens." in results["notes"]
        assert results["training"]["batch_size"] in (4, 8, 16, 32, 64)

    def test_empty_texts_train_and_predict(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """Texts of nothing but stop words and texts of nothing at all: no crash, and no active token."""
        data = write_reviews(tmp_path / "data", 64, 16, 16)
        for name in ("train", "validation", "test"):
            write_csv(data / f"{name}.csv", ["", "the of"] * 16, LABELS * 16)
        results = run_experiment(tiny_config(data, toy_run.backbone, tmp_path / "out", training__epochs=4))
        assert results["active_tokens"]["mean"] == 0.0 and results["accuracy"] == 0.5
        model = LexicalSAE.from_pretrained(tmp_path / "out" / "model")
        assert [p.active_tokens for p in predict_batch(model, ["", "   "])] == [0, 0]

    @pytest.mark.parametrize("support", ["full", "dictionary", "neighbourhood+dictionary"])
    def test_every_support_trains_and_loads(self, toy_run: ToyRun, tmp_path: Path, support: str) -> None:
        changes = {"model__support": support, "model__dictionary_size": 60, "training__max_steps": 5}
        run = setup_and_train(toy_run.config(tmp_path, **changes)).prepared
        loaded = LexicalSAE.from_pretrained(tmp_path / "model")
        texts = run.dataset.test.texts[:8]
        assert predict_batch(loaded, texts) == predict_batch(run.model, texts)


def test_data_files_are_found_from_the_run_folder_and_a_run_is_known_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(tmp_path / "mine.csv", *toy_reviews(20))
    monkeypatch.chdir(tmp_path)
    config = load_config(None, ["data.train_file=mine.csv", "data.dataset_name=null", "output_dir=run"])
    write_config(config)
    written = load_config(tmp_path / "run" / "config.yaml")
    assert written.data.train_file == str(tmp_path / "mine.csv") and written.data.test_file is None
    data = load_dataset(config.data, config.seed)
    assert run_id(written, data) == run_id(config, data)
    other = dataclasses.replace(config, data=dataclasses.replace(config.data, train_file="other.csv"))
    assert run_id(other, data) != run_id(config, data)


def test_a_new_setting_with_a_default_leaves_earlier_runs_what_they_were(toy_run: ToyRun, tmp_path: Path) -> None:
    """A run is known by what differs from the defaults, so a version with more settings can resume it."""

    def of_older(values: dict[str, object]) -> dict[str, object]:
        return {key: value for key, value in values.items() if key != "delimiter"}

    config = toy_run.config(tmp_path)
    dataset, real = load_dataset(config.data, config.seed), dataclasses.asdict
    now = run_id(config, dataset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "asdict", lambda each: real(each, dict_factory=lambda pairs: of_older(dict(pairs))))
        assert run_id(config, dataset) == now
    other = dataclasses.replace(config, data=dataclasses.replace(config.data, delimiter=";"))
    assert run_id(other, dataset) != now
