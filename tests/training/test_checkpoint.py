"""Checkpoints are whole or not there, damage is noticed, and the one before is always at hand."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from splade.errors import CheckpointError
from splade.training import checkpoint as module
from splade.training.checkpoint import (
    MANIFEST,
    STATE,
    TENSORS,
    Checkpoint,
    list_checkpoints,
    load_checkpoint,
    newest_checkpoint,
    save_checkpoint,
)


def build(step: int) -> Checkpoint:
    tensors = {
        "weight": torch.full((3, 4), float(step)),
        "short": torch.arange(4).bfloat16(),
        "transposed": torch.arange(6.0).view(2, 3).T,  # not contiguous
        "count": torch.tensor(step),
        "rng": torch.arange(5, dtype=torch.uint8),
    }
    return Checkpoint(tensors, {"step": step, "tau": None, "recent": [0.1, 0.2], "kept": {"name": "ü"}})


def save_two(folder: Path) -> tuple[Path, Path]:
    return save_checkpoint(folder, 10, build(10)), save_checkpoint(folder, 20, build(20))


def assert_is(checkpoint: Checkpoint, step: int) -> None:
    expected = build(step)
    assert checkpoint.state == expected.state
    assert checkpoint.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        assert checkpoint.tensors[name].dtype == tensor.dtype
        assert torch.equal(checkpoint.tensors[name], tensor)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def test_what_was_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "new" / "checkpoints", 7, build(7))
    assert_is(load_checkpoint(path), 7)
    checkpoint, refused = newest_checkpoint(path.parent)
    assert_is(checkpoint, 7)
    assert refused == []


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for step in (9, 10, 100, 1000):  # order is by number, not by spelling
        save_checkpoint(tmp_path, step, build(step))
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step_00000100", "step_00001000"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_00000100", "step_00001000"]
    assert_is(newest_checkpoint(tmp_path)[0], 1000)


def test_the_same_step_may_be_saved_again(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 5, build(4))
    save_checkpoint(tmp_path, 5, build(5))
    assert_is(newest_checkpoint(tmp_path)[0], 5)


class TestInterrupted:
    def test_a_folder_left_half_written_is_ignored_and_then_replaced(self, tmp_path: Path) -> None:
        save_two(tmp_path)
        left = tmp_path / ".writing_step_00000030"
        left.mkdir()
        (left / TENSORS).write_bytes(b"half")
        checkpoint, refused = newest_checkpoint(tmp_path)
        assert_is(checkpoint, 20)
        assert refused == []
        save_checkpoint(tmp_path, 30, build(30))
        assert not left.exists()
        assert_is(newest_checkpoint(tmp_path)[0], 30)

    @pytest.mark.parametrize("moment", ["save_file", "_sha256", "_flush"])
    def test_a_kill_at_any_moment_of_writing_leaves_the_older_ones(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
    ) -> None:
        def killed(*_: object) -> NoReturn:
            raise KeyboardInterrupt

        save_two(tmp_path)
        monkeypatch.setattr(module, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(tmp_path, 30, build(30))
        monkeypatch.undo()
        assert [path.name for path in list_checkpoints(tmp_path)] == ["step_00000010", "step_00000020"]
        assert_is(newest_checkpoint(tmp_path)[0], 20)


@pytest.mark.parametrize("name", [TENSORS, STATE, MANIFEST])
@pytest.mark.parametrize("damage", [flip_a_bit, truncate, Path.unlink])
class TestDamage:
    def test_is_refused_with_a_sentence_and_the_one_before_is_used(self, tmp_path: Path, name: str, damage) -> None:  # type: ignore[no-untyped-def]
        _, newest = save_two(tmp_path)
        damage(newest / name)
        with pytest.raises(CheckpointError, match="step_00000020 is damaged"):
            load_checkpoint(newest)
        checkpoint, refused = newest_checkpoint(tmp_path)
        assert_is(checkpoint, 10)
        assert len(refused) == 1
        assert "step_00000020 is damaged" in refused[0] and "The one before it is used." in refused[0]

    def test_of_all_is_an_error_that_says_what_to_do(self, tmp_path: Path, name: str, damage) -> None:  # type: ignore[no-untyped-def]
        for path in save_two(tmp_path):
            damage(path / name)
        with pytest.raises(CheckpointError, match=r"found 2 checkpoint\(s\), all damaged; .* without --resume"):
            newest_checkpoint(tmp_path)


def test_an_empty_or_missing_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CheckpointError, match="found no checkpoint"):
            newest_checkpoint(folder)


class TestFullDisk:
    def assert_explained_and_intact(self, folder: Path, big: Checkpoint, reason: str) -> None:
        with pytest.raises(CheckpointError, match=rf"step 30 could not be written.*{reason}.*--resume"):
            save_checkpoint(folder, 30, big)
        assert sorted(path.name for path in folder.iterdir()) == ["step_00000010", "step_00000020"]
        assert_is(newest_checkpoint(folder)[0], 20)

    def test_is_explained_and_older_checkpoints_stay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> NoReturn:
            raise OSError(errno.ENOSPC, "No space left on device")

        save_two(tmp_path)
        monkeypatch.setattr(module, "save_file", full)
        self.assert_explained_and_intact(tmp_path, build(30), "No space left on device")

    def test_also_as_safetensors_itself_reports_it(self, tmp_path: Path) -> None:
        save_two(tmp_path)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, before[1]))  # no file may grow beyond 64 KB
        try:
            self.assert_explained_and_intact(tmp_path, Checkpoint({"w": torch.zeros(100_000)}, {}), "[Tt]oo large")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
