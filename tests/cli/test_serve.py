"""`lexical-sae serve`: what it refuses before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.apps.server.process import KEY
from splade.apps.server.served import named_folders
from splade.cli import serve
from splade.errors import ConfigError
from tests.runs import expect_sentence, run_cli


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    expect_sentence(run_cli("serve", tmp_path / "none", "--port", 0), "none")


def test_what_cannot_be_asked_for_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    expect_sentence(run_cli("serve", tmp_path, "--host", "0.0.0.0", "--port", 0), "needs an API key", KEY)
    expect_sentence(run_cli("serve", tmp_path, "--precision", "half"), "--precision is 'half'")
    expect_sentence(run_cli("serve", "a/model", "b/../a/model"), "Two models would be called 'a'", "NAME=")
    expect_sentence(run_cli("serve", f"a b={tmp_path}"), "'a b'", "NAME=")


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "fastapi" else object())
    expect_sentence(run_cli("serve", tmp_path), "fastapi", "pip install 'lexical-sae[serve]'")


def test_models_are_named_after_their_runs() -> None:
    assert list(named_folders(["results/sst2/model", "models/ner", "best=results/x/model"])) == ["sst2", "ner", "best"]
    with pytest.raises(ConfigError, match="Two models"):
        named_folders(["a/model", "a=b"])
