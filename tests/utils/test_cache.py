"""Where the cache is, by the variables of the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.utils.cache import cache_folder


def test_the_variable_comes_before_the_base_directories_and_these_before_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("LEXICAL_SAE_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "lexical-sae"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / "home" / ".cache" / "lexical-sae"
