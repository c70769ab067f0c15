"""Where a model may be saved, and that a killed or hindered save leaves the earlier model."""

from __future__ import annotations

import copy
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from splade.errors import ModelError
from splade.models import saving
from splade.models.folder import SETTINGS, WEIGHTS, WRITING
from splade.models.lexical_sae import LexicalSAE
from tests.models.saved_models import hidden, logits
from tests.runs import digest


class TestPlaces:
    """A save may replace only what a save wrote."""

    def test_the_users_own_files_stay(self, saved: tuple[LexicalSAE, Path]) -> None:
        model, folder = saved
        (folder / "thesis.txt").write_text("years of work")
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("ref")
        model.save_pretrained(folder)
        assert (folder / "thesis.txt").read_text() == "years of work" and (folder / ".git" / "HEAD").exists()
        assert torch.equal(logits(LexicalSAE.from_pretrained(folder)), logits(model))

    @pytest.mark.parametrize("place", [".", "../here", "new/deep", "~/model"])
    def test_wherever_it_is(
        self, saved: tuple[LexicalSAE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        here = tmp_path / "here"
        here.mkdir()
        (here / "thesis.txt").write_text("years of work")
        monkeypatch.chdir(here)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        saved[0].save_pretrained(place)
        assert torch.equal(logits(LexicalSAE.from_pretrained(place)), logits(saved[0]))
        assert (here / "thesis.txt").read_text() == "years of work" and hidden(here) == []

    def test_through_a_link(self, saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
        (tmp_path / "far").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "far")
        saved[0].save_pretrained(tmp_path / "link")
        assert (tmp_path / "link").is_symlink() and (tmp_path / "far" / SETTINGS).exists()

    @pytest.mark.parametrize("kind", ["file", "dangling", "loop", "below a file", "/proc/nothing/here"])
    def test_no_place_for_a_model(self, saved: tuple[LexicalSAE, Path], tmp_path: Path, kind: str) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        place = {"below a file": tmp_path / "file" / "model", "/proc/nothing/here": Path(kind)}.get(kind)
        with pytest.raises(ModelError, match=r"saved to|written to") as error:
            saved[0].save_pretrained(place or tmp_path / kind)
        assert "\n" not in str(error.value) and (tmp_path / "file").read_text() == "mine"
        assert not list(tmp_path.rglob(".lexical_sae*"))

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
    def test_the_model_of_another_tool_stays(self, saved: tuple[LexicalSAE, Path], tmp_path: Path, name: str) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / name).write_text("{}")
        with pytest.raises(ModelError, match=f"holds {name}, which no save .* wrote"):
            saved[0].save_pretrained(tmp_path / "other")
        assert [path.name for path in (tmp_path / "other").iterdir()] == [name]

    @pytest.mark.parametrize("folder", ["", "  ", "a\0b", None, 3, b"model"])
    def test_no_name_of_a_folder(self, saved: tuple[LexicalSAE, Path], folder: object) -> None:
        with pytest.raises(ModelError, match="A model's folder was expected"):
            saved[0].save_pretrained(folder)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="A model's folder was expected"):
            LexicalSAE.from_pretrained(folder)  # type: ignore[arg-type]

    def test_a_failed_save_makes_no_folder(self, saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="plain JSON values"):
            saved[0].save_pretrained(tmp_path / "a" / "b", note=object())
        assert not (tmp_path / "a").exists()


class Killed(BaseException):
    """Stands for the end of the process."""


class TestKilledWhileSaving:
    def test_the_old_model_or_the_new_is_there_at_every_moment(
        self, saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, folder = saved
        (folder / "thesis.txt").write_text("years of work")
        real, seen = os.replace, set()
        for survives in range(20):
            before, calls = logits(LexicalSAE.from_pretrained(folder)), iter(range(100))
            with torch.no_grad():
                model.head.out.bias.add_(torch.tensor([1.0, 0.0]))

            def replace(source: Path, target: Path, calls: Iterator[int] = calls, last: int = survives) -> None:
                if next(calls) == last:
                    raise Killed
                real(source, target)

            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", replace)
                patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process tidies nothing up
                try:
                    model.save_pretrained(folder)
                    finished = True
                except Killed:
                    finished = False
            after = logits(LexicalSAE.from_pretrained(folder))
            seen.add("new" if torch.equal(after, logits(model)) else "old" if torch.equal(after, before) else "lost")
            assert finished <= torch.equal(after, logits(model)) and (folder / "thesis.txt").exists()
            for left in folder.glob(f"{WRITING}*"):  # the next process has another number, and removes it
                shutil.rmtree(left)
            if finished:
                break
        assert finished and seen == {"old", "new"}

    def test_what_a_killed_process_was_writing_is_removed(self, saved: tuple[LexicalSAE, Path]) -> None:
        abandoned = saved[1] / f"{WRITING}{2**22 + 1}"  # above the largest number a process can have
        abandoned.mkdir()
        (abandoned / WEIGHTS).write_bytes(b"half")
        saved[0].save_pretrained(saved[1])
        assert hidden(saved[1]) == []


class TestFullDisk:
    def test_leaves_the_earlier_model(
        self, saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        model, folder = saved
        before = digest(folder / WEIGHTS)
        monkeypatch.setattr(saving, "save_file", full_disk)
        with pytest.raises(ModelError, match=r"could not be written to .*No space left on device.*--resume"):
            model.save_pretrained(folder)
        assert digest(folder / WEIGHTS) == before
        assert hidden(folder) == []

    def test_also_as_safetensors_itself_reports_it(self, saved: tuple[LexicalSAE, Path]) -> None:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, limit[1]))  # no file may grow beyond 64 KB
        try:
            with pytest.raises(ModelError, match=r"could not be written to .*[Tt]oo large"):
                saved[0].save_pretrained(saved[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert (saved[1] / WEIGHTS).exists()


def test_a_save_that_passes_by_is_waited_for(saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of one save under the labels of another would pass every hash."""
    model, folder = saved
    real, other = saving.build_model, copy.deepcopy(model)
    with torch.no_grad():
        other.head.out.bias.add_(1.0)
    other.labels = ["one", "two"]
    saves = iter([other])

    def passed_by(*args: object, **options: object) -> LexicalSAE:
        for each in saves:
            each.save_pretrained(folder)
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(saving, "build_model", passed_by)
    loaded = LexicalSAE.from_pretrained(folder)
    assert loaded.labels == ["one", "two"] and torch.equal(logits(loaded), logits(other))


def test_threads_may_save_and_load_at_once(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    model, folder = saved
    normal = torch.nn.init.normal_
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(model.save_pretrained, tmp_path / "shared") for _ in range(6)]
        work += [pool.submit(LexicalSAE.from_pretrained, folder) for _ in range(6)]
        assert all(each.result() is not None for each in work)
    assert torch.equal(logits(LexicalSAE.from_pretrained(tmp_path / "shared")), logits(model))
    assert torch.nn.init.normal_ is normal and torch.nn.Linear(2, 2).weight.device.type == "cpu"
