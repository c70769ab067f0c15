"""Loading a checkpoint: quietly where it works, with one sentence where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, BertConfig, ByT5Tokenizer, GPT2Config
from transformers.utils import logging as transformers_logging

from splade.errors import BackboneError
from splade.models import pretrained
from splade.models.backbone import Backbone
from splade.models.packaged import ALIASES, InOnePackage
from tests.builders import build_backbone_folder, build_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_backbone_folder(tmp_path, "bert")


def expect(name: object, *parts: str) -> None:
    """Loading ``name`` fails with one sentence that holds every part."""
    with pytest.raises(BackboneError) as caught:
        Backbone.from_name(str(name))
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALIASES, "minilm", InOnePackage("any/name", "no-such-distribution", "model"))
    expect("minilm", "no-such-distribution", "requirements-demo.txt", "make quickstart")


def test_unknown_name_without_network() -> None:
    expect("mini-lm", "no alias (minilm, mpnet)", "Hub", "Did you mean 'minilm'?")
    expect("someone/some-model", "Hub", "check the name")


def test_missing_folder(tmp_path: Path) -> None:
    expect(tmp_path / "nowhere", "does not exist")


def test_no_config(tmp_path: Path) -> None:
    expect(tmp_path, "no config.json", "save_pretrained")


def test_damaged_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    expect(folder, "config.json", "cannot be used")


def test_unknown_model_type(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "unheard-of"}))
    expect(folder, "unheard-of")


def test_no_masked_lm(folder: Path) -> None:
    GPT2Config(n_layer=1, n_embd=8, n_head=1).save_pretrained(folder)
    expect(folder, "'gpt2'", "masked language model such as BERT")


def test_pickled_weights_are_not_read(folder: Path) -> None:
    weights = AutoModelForMaskedLM.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    expect(folder, "no safetensors weights", "pickled")


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    expect(folder, "no safetensors weights")


def test_truncated_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    expect(folder, "cannot be loaded", "fetch them again")


def test_encoder_weights_missing(folder: Path) -> None:
    config = BertConfig.from_pretrained(folder)
    config.num_hidden_layers = 3
    config.save_pretrained(folder)
    expect(folder, "lacks", "bert.encoder.layer.2.")


def test_no_tokenizer_files(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    expect(folder, "tokenizer", "tokenizer.json")


def test_slow_tokenizer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained.AutoTokenizer, "from_pretrained", lambda *_, **__: ByT5Tokenizer())
    expect(folder, "only a slow tokenizer")


def test_tokenizer_of_another_model(folder: Path) -> None:
    build_tokenizer("bpe").save_pretrained(folder)
    expect(folder, "do not belong together")


def test_loading_is_quiet_and_leaves_verbosity_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = build_backbone_folder(tmp_path, "bert", head=False)
    before = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    capfd.readouterr()
    transformers_logging.set_verbosity_info()
    try:
        Backbone.from_name(str(folder))
        assert transformers_logging.get_verbosity() == transformers_logging.INFO
    finally:
        transformers_logging.set_verbosity(before)
    assert transformers_logging.is_progress_bar_enabled() == bars
    assert "".join(capfd.readouterr()) == ""
