"""Tensors kept in the cache: the same to the bit, made anew where damaged, and never too many."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from splade.utils import kept as module
from splade.utils.kept import computed_by, content_hash, kept


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "things"


def failing() -> Tensor:
    raise AssertionError("computed again")


def keep(key: str, size: int = 3) -> Tensor:
    return kept("things", key, lambda: torch.arange(size) / 7)


@pytest.mark.parametrize("shape", [(5, 3), (0, 4), ()])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_what_was_computed_is_found_to_the_bit(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    computed = torch.randn(shape).mul(9).to(dtype)
    kept("things", "a", lambda: computed)
    found = kept("things", "a", failing)
    assert found.dtype == dtype and torch.equal(found, computed)
    found.add_(1)  # it is nobody else's
    assert torch.equal(kept("things", "a", failing), computed)


def test_another_key_is_another_tensor() -> None:
    keep("a")
    assert len(kept("things", "b", lambda: torch.ones(9))) == 9


@pytest.mark.parametrize("damage", ["cut off", "a bit", "empty", "text", "another's", "folder"])
def test_a_damaged_file_is_made_anew(cache: Path, damage: str) -> None:
    expected = keep("a")
    [path] = cache.iterdir()
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "another's":
        save_file({"tensor": torch.zeros(3)}, path)
    else:
        changed = {
            "cut off": content[:-2],
            "a bit": content[:-1] + bytes([content[-1] ^ 1]),
            "empty": b"",
            "text": b"x",
        }
        path.write_bytes(changed[damage])
    assert torch.equal(keep("a"), expected)
    if damage != "folder":  # in whose place nothing can be written
        assert torch.equal(kept("things", "a", failing), expected)


def test_without_a_place_to_write_it_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "file"))
    assert torch.equal(keep("a"), keep("a"))


def test_a_full_disk_leaves_nothing_behind(
    cache: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., NoReturn]
) -> None:
    monkeypatch.setattr(module.os, "replace", full_disk)
    assert len(keep("a")) == 3
    assert list(cache.iterdir()) == []


def names(cache: Path) -> list[str]:
    return sorted(path.stem for path in cache.iterdir())


def used_long_ago(path: Path, days: int) -> None:
    os.utime(path, (0, path.stat().st_mtime - 86400 * days))


def test_the_longest_unused_goes_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for age, key in enumerate("cba", start=1):
        keep(key)
        used_long_ago(cache / f"{key}.safetensors", age)
    kept("things", "a", failing)  # used now
    keep("d")
    assert names(cache) == ["a", "c", "d"]


def test_files_have_a_most_size_together(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 8_000)
    for age, key in enumerate("cba", start=1):
        keep(key, 800)
        used_long_ago(cache / f"{key}.safetensors", age)
    keep("d", 800)
    assert names(cache) == ["c", "d"]
    keep("e", 8000)  # larger than all may be: it alone stays
    assert names(cache) == ["e"]


def test_what_a_killed_process_left_goes_in_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 2)
    keep("a")
    (cache / ".writing_x").write_bytes(b"half")
    used_long_ago(cache / ".writing_x", 1)
    keep("b")
    assert names(cache) == ["a", "b"]


def test_a_hash_tells_values_shapes_and_types_apart() -> None:
    ones = torch.ones(2, 3)
    others = [ones.T, ones.int(), ones.flatten(), torch.zeros(2, 3)]
    assert len({content_hash(each) for each in [ones, *others]}) == 5
    assert content_hash(ones) == content_hash(ones.clone()) == content_hash(torch.ones(3, 2).T)


def test_what_computes_tells_threads_and_precisions_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    usual = computed_by(cpu)
    assert computed_by(cpu) == usual
    with torch.autocast("cpu", torch.bfloat16):
        assert computed_by(cpu) != usual
    for name, value in (("get_num_threads", 64), ("get_float32_matmul_precision", "medium"), ("__version__", "0")):
        with monkeypatch.context() as patch:
            patch.setattr(torch, name, value if name == "__version__" else lambda value=value: value)
            assert computed_by(cpu) != usual
