"""A run that was killed, stopped or damaged ends with the very weights of one that was not."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from splade.errors import CheckpointError
from splade.pipelines import setup_and_train
from splade.training.checkpoint import TENSORS, list_checkpoints
from splade.training.interrupt import STOP_SIGNALS, Interrupted, interruptible
from splade.training.loop import Trainer
from splade.training.validation import Validation
from tests.runs import ToyRun, contents, run_cli, weights

PATIENCE = 120  # seconds; a machine may be busy


class Killed(BaseException):
    """Stands for a kill that no handler sees."""


def kill_in_step(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let training die within this step (counted from 1)."""
    advance = Trainer.advance

    def dying(self: Trainer, interrupted: bool):  # type: ignore[no-untyped-def]
        if self.step + 1 == step:
            raise Killed
        return advance(self, interrupted)

    monkeypatch.setattr(Trainer, "advance", dying)


def train_until_killed(run: ToyRun, output: Path, step: int, **changes: object) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_in_step(patch, step)
        setup_and_train(run.config(output, **changes))


def resume(run: ToyRun, output: Path, **changes: object) -> str:
    """Go on; what was said."""
    said = io.StringIO()
    setup_and_train(run.config(output, **changes), resume=True, console=Console(file=said, width=200))
    return said.getvalue()


def history(folder: Path) -> list[dict[str, object]]:
    """`metrics.jsonl` without what depends on the clock."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("seconds", "words_per_second")} for line in lines]


def test_a_real_kill_at_a_random_moment(toy_run: ToyRun, tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-m", "splade", "train", *toy_run.sets(output)]
    said = (tmp_path / "said").open("wb")
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=said, stderr=said)
    try:
        deadline = time.monotonic() + PATIENCE
        while not list_checkpoints(output / "checkpoints"):
            assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "said").read_text()
            time.sleep(0.01)
        time.sleep(random.Random(11).uniform(0, 0.4))
    finally:
        process.kill()
        process.wait()
        said.close()
    assert process.returncode == -signal.SIGKILL and not (output / "results.json").exists()
    assert "Resuming after step" in resume(toy_run, output)
    assert weights(output) == weights(toy_run.folder)


@pytest.mark.parametrize("step", [5, 7, 16])  # in the warm-up, in the first circuit step, in the last step
def test_a_kill_in_any_phase(toy_run: ToyRun, tmp_path: Path, step: int) -> None:
    train_until_killed(toy_run, tmp_path, step)
    assert not (tmp_path / "model").exists()
    assert f"Resuming after step {(step - 1) // 3 * 3} of 16." in resume(toy_run, tmp_path)
    assert weights(tmp_path) == weights(toy_run.folder)
    steps = [(line["step"], "validation" in line) for line in history(tmp_path)]
    assert steps == [(line["step"], "validation" in line) for line in history(toy_run.folder)]


def test_a_checkpoint_at_any_step_changes_no_weight(toy_run: ToyRun, tmp_path: Path) -> None:
    """As Ctrl-C writes one: the average of Schedule-Free's optimiser must not be taken and given back on the way."""
    train_until_killed(toy_run, tmp_path, 12, training__save_every=1)
    assert "Resuming after step 11 of 16." in resume(toy_run, tmp_path, training__save_every=1)
    assert weights(tmp_path) == weights(toy_run.folder)


def test_a_kill_with_the_default_optimiser_and_head_and_accumulation(toy_run: ToyRun, tmp_path: Path) -> None:
    changes = {
        "model__head": "tied_mlp",
        "model__token_dropout": 0.1,
        "training__optimizer": "adamw",
        "training__gradient_accumulation_steps": 2,
        "training__epochs": 3,
    }
    setup_and_train(toy_run.config(tmp_path / "whole", **changes))  # 12 steps
    train_until_killed(toy_run, tmp_path / "killed", 8, **changes)
    assert "Resuming after step 6 of 12." in resume(toy_run, tmp_path / "killed", **changes)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


def test_a_kill_with_every_part_of_the_older_recipes(toy_run: ToyRun, tmp_path: Path) -> None:
    """Moving averages of the weights, of document frequencies and of centroids, learned variances, a rate found."""
    changes = {"training__recipe": "cis", "training__optimizer": "adamw", "training__learning_rate": "auto"}
    whole = setup_and_train(toy_run.config(tmp_path / "whole", **changes)).prepared
    assert (whole.config.model.gate, whole.config.training.weight_ema) == ("drelu_log1p", 0.999)
    train_until_killed(toy_run, tmp_path / "killed", 11, **changes)
    said = resume(toy_run, tmp_path / "killed", **changes)
    assert "Resuming after step 9 of 16." in said and "range test" not in said  # the checkpoint knows the rate
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["truncated", "bit-flipped"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_used(
    toy_run: ToyRun, tmp_path: Path, damage: str
) -> None:
    train_until_killed(toy_run, tmp_path, 14)
    newest = list_checkpoints(tmp_path / "checkpoints")[-1] / TENSORS
    content = bytearray(newest.read_bytes())
    if damage == "truncated":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 8
    newest.write_bytes(content)
    said = resume(toy_run, tmp_path)
    assert "The checkpoint step_00000012 is damaged" in said and "Resuming after step 9 of 16." in said
    assert weights(tmp_path) == weights(toy_run.folder)


def test_other_settings_are_refused_and_nothing_is_touched(toy_run: ToyRun, tmp_path: Path) -> None:
    train_until_killed(toy_run, tmp_path, 5)
    before = contents(tmp_path)
    with pytest.raises(CheckpointError, match="belong to a run with other settings or data"):
        setup_and_train(toy_run.config(tmp_path, training__learning_rate=5e-4), resume=True)
    assert contents(tmp_path) == before


def test_a_run_that_stopped_early_stays_stopped(
    toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resuming it (its evaluation may have been killed) must not train on."""
    monkeypatch.setattr(Trainer, "validate", lambda self: Validation("accuracy", 0.9, 0.5, 5.0))
    impatient = toy_run.config(tmp_path, training__early_stopping_patience=2, training__eval_every=1)
    first = setup_and_train(impatient)
    assert first.outcome.stopped_early and first.outcome.steps < 16
    trained = weights(tmp_path)
    again = setup_and_train(impatient, resume=True)
    assert again.outcome.steps == first.outcome.steps and again.outcome.stopped_early
    assert weights(tmp_path) == trained


class TestInterrupt:
    @pytest.mark.parametrize(("asks", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
    def test_being_asked_to_leave_saves_says_how_to_go_on_and_resume_finishes(
        self, toy_run: ToyRun, tmp_path: Path, asks: signal.Signals, name: str
    ) -> None:
        log = Trainer._log

        def press(self: Trainer) -> dict[str, object]:
            if self.step == 8:
                signal.raise_signal(asks)
            return log(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "_log", press)
            stopped = run_cli("train", *toy_run.sets(tmp_path))
        assert stopped.exit_code == 130
        assert f"{name}: finishing this step" in stopped.stderr
        assert stopped.stderr.strip().endswith(
            "Stopped after step 8 of 16; all is saved. Go on with the same command (train: with --resume, in the place "
            "of --overwrite if given)."
        )
        assert list_checkpoints(tmp_path / "checkpoints")[-1].name == "step_00000008"
        went_on = run_cli("train", *toy_run.sets(tmp_path), "--resume")
        assert went_on.exit_code == 0 and "Resuming after step 8 of 16." in went_on.stderr
        assert (tmp_path / "results.json").exists()

    def test_a_second_press_ends_at_once(self) -> None:
        said: list[str] = []
        handlers = [signal.getsignal(asks) for asks in STOP_SIGNALS]
        with pytest.raises(KeyboardInterrupt), interruptible(said.append) as pressed:
            assert not pressed()
            signal.raise_signal(signal.SIGINT)
            assert pressed() and len(said) == 1
            signal.raise_signal(signal.SIGINT)
        assert [signal.getsignal(asks) for asks in STOP_SIGNALS] == handlers

    def test_is_no_ordinary_error_of_the_user(self) -> None:
        assert not issubclass(Interrupted, CheckpointError)
