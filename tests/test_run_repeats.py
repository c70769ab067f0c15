"""A run repeats: the same seed gives the same bytes, and nothing fitted has seen the test texts."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch

from splade.models.lexical_sae import LexicalSAE
from splade.models.supports import neighbourhood
from splade.pipelines import dense_trainer, outputs, preparation, prepare, run_experiment, setup_and_train
from splade.training import loop
from splade.training.checkpoint import Checkpoint
from splade.training.loop import Trainer
from splade.training.resume import restore
from tests.runs import (
    LABELS,
    RUN_FILES,
    ToyRun,
    contents,
    read_json,
    weights,
    write_csv,
)


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

        monkeypatch.setattr(neighbourhood, "_nearest_words", too_long)
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
            right, wrong = outputs._explained(run.model, run.test, dataclasses.replace(run.config, seed=seed))
            explained.append([one.text for one in (*right, *(one for one, _ in wrong))])  # type: ignore[union-attr]
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
        setup_and_train(dataclasses.replace(toy_run, data=other).config(tmp_path / "out"))
        assert weights(tmp_path / "out") == weights(toy_run.folder)

    def test_whatever_is_lost_comes_back_with_resume(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def restore_later(trainer: Trainer, checkpoint: Checkpoint) -> None:
            restore(trainer, checkpoint)
            trainer.seconds += 1000  # the session before was a long one

        monkeypatch.setattr(loop, "restore", restore_later)
        folder = shutil.copytree(toy_run.folder, tmp_path / "out")
        for name in set(RUN_FILES) - {"checkpoints", "metrics.jsonl"}:
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
