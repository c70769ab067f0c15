"""A run's folder: what is refused, replaced, kept and found again."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from splade import run_folder
from splade.config.load import load_config
from splade.data.loader import load_dataset
from splade.errors import ConfigError, DataError
from splade.models.dense import DenseClassifier
from splade.pipelines import run_experiment, setup_and_train
from splade.run_folder import LOCK, begin_anew, check_output_dir, held, run_id, write_config
from splade.training.loop import Trainer
from tests.builders import toy_reviews
from tests.runs import (
    ToyRun,
    contents,
    expect_sentence,
    read_json,
    run_cli,
    write_csv,
)


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

    def test_the_dense_baseline_goes_with_the_run_it_is_of(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """Once another run has a model, and not before; what somebody has put beside it stays."""
        few = {"training__max_steps": 5, "training__eval_every": 5}
        run_experiment(toy_run.config(tmp_path, evaluation__dense_baseline=True, **few))
        dense = DenseClassifier.from_pretrained(tmp_path / "dense" / "model")
        assert dense.record["experiment"]["evaluation"]["dense_baseline"] is True
        kept = contents(tmp_path / "dense" / "model")
        (tmp_path / "dense" / "mine.txt").write_text("mine")
        begin_anew(tmp_path)
        assert contents(tmp_path / "dense" / "model") == kept
        run_experiment(toy_run.config(tmp_path, seed=1, **few), overwrite=True)
        assert [path.name for path in (tmp_path / "dense").iterdir()] == ["mine.txt"]

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
