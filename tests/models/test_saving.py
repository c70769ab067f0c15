"""A saved model is the same model when it is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from splade.errors import ConfigError, ModelError
from splade.models.backbone import Head
from splade.models.folder import SETTINGS, WEIGHTS, file_hash
from splade.models.lexical_sae import LexicalSAE
from splade.models.saving import library_versions, load_model
from splade.models.starting_point import load_backbone
from tests.builders import FAMILIES, build_backbone_folder, build_model, encode
from tests.models.saved_models import TEXTS, hidden, logits


@pytest.mark.parametrize("support", ["full", "neighbourhood", "dictionary", "neighbourhood+dictionary"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, support: str, family: str) -> None:
    model = build_model(tmp_path, support, family, classes=3)
    content_hash = model.save_pretrained(tmp_path / "model")
    loaded = LexicalSAE.from_pretrained(tmp_path / "model", "cpu")
    assert torch.equal(logits(loaded), logits(model))
    assert (loaded.labels, loaded.max_length, loaded.config) == (model.labels, model.max_length, model.config)
    assert not loaded.training
    assert len({file.stat().st_mode for file in (tmp_path / "model").iterdir()}) == 1  # whoever may read one may all
    settings = json.loads((tmp_path / "model" / SETTINGS).read_text())
    assert settings["sha256"] == content_hash
    assert settings["files"][WEIGHTS] == hashlib.sha256((tmp_path / "model" / WEIGHTS).read_bytes()).hexdigest()
    assert {*settings["files"], SETTINGS} == {path.name for path in (tmp_path / "model").iterdir()}


@pytest.mark.parametrize("head", ["trained", "repaired"])
@pytest.mark.parametrize("family", FAMILIES)
def test_reading_it_without_random_weights_first_changes_nothing(tmp_path: Path, family: str, head: Head) -> None:
    folder = build_backbone_folder(tmp_path, family, head=head == "trained")
    folder.rename(tmp_path / family)
    build_model(tmp_path, "neighbourhood", family).save_pretrained(tmp_path / "model")
    drawn, read = (load_model(LexicalSAE, tmp_path / "model", draw=draw).eval() for draw in (True, False))
    assert torch.equal(logits(read), logits(drawn))
    for kind in ("named_parameters", "named_buffers"):
        expected, found = (dict(getattr(model, kind)(remove_duplicate=False)) for model in (drawn, read))
        assert found.keys() == expected.keys()
        for name, tensor in found.items():
            assert torch.equal(tensor, expected[name]), name
            assert (tensor.dtype, tensor.requires_grad) == (expected[name].dtype, expected[name].requires_grad), name
        assert len({id(tensor) for tensor in found.values()}) == len({id(tensor) for tensor in expected.values()})


def test_only_a_training_draws_what_the_saved_weights_replace(saved: tuple[LexicalSAE, Path]) -> None:
    """A seed means what it has always meant where a training goes on from a saved model."""
    _, folder = saved

    def after(load: Callable[[], object]) -> torch.Tensor:
        torch.manual_seed(0)
        load()
        return torch.rand(4)

    drawn = after(lambda: load_model(LexicalSAE, folder, draw=True))
    assert torch.equal(after(lambda: load_backbone(str(folder))), drawn)
    assert not torch.equal(after(lambda: LexicalSAE.from_pretrained(folder)), drawn)


@pytest.mark.parametrize("train_decoder", [False, True])
@pytest.mark.parametrize("head", ["trained", "repaired"])
def test_a_saved_model_is_a_backbone_with_what_it_has_learned(tmp_path: Path, head: Head, train_decoder: bool) -> None:
    build_backbone_folder(tmp_path, head=head == "trained").rename(tmp_path / "bert")
    model = build_model(tmp_path, "full", train_decoder=train_decoder)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "model")
    backbone, tokenizer = load_backbone(str(tmp_path / "model"))
    weight, bias = backbone.decoder()
    ids, mask = encode(model, TEXTS)
    assert backbone.head == head and tokenizer.get_vocab() == model.tokenizer.get_vocab() and not backbone.training
    assert torch.equal(weight, model.encoder.weight) and torch.equal(bias, model.encoder.bias)
    assert torch.equal(backbone(ids, mask), model.backbone(ids, mask))
    assert all(parameter.requires_grad for parameter in backbone.parameters())


def test_the_folder_needs_nothing_else(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    """It may be moved, and the backbone's folder may be gone."""
    model, folder = saved
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "bert").rename(tmp_path / "gone")
    assert torch.equal(logits(LexicalSAE.from_pretrained(tmp_path / "elsewhere")), logits(model))


def test_thresholds_are_float32_and_tables_are_there(saved: tuple[LexicalSAE, Path]) -> None:
    tensors = load_file(saved[1] / WEIGHTS)
    gate = [t.dtype for name, t in tensors.items() if ".gate." in name]
    assert gate and set(gate) == {torch.float32}
    assert tensors["encoder.supports.0.neighbours"].shape == (saved[0].vocabulary.tokens, 6)
    assert len(tensors["encoder.supports.1.tokens"]) > 0


def test_the_settings_say_what_the_model_is(saved: tuple[LexicalSAE, Path]) -> None:
    settings = json.loads((saved[1] / SETTINGS).read_text())
    assert settings["versions"] == library_versions() and "torch" in settings["versions"]
    assert (settings["dataset"], settings["seed"], settings["labels"]) == ("toys", 5, ["class 0", "class 1"])
    assert LexicalSAE.from_pretrained(saved[1]).record == settings


def test_nothing_that_could_run_code_is_written(saved: tuple[LexicalSAE, Path]) -> None:
    assert {path.suffix for path in saved[1].iterdir()} == {".json", ".safetensors"}


def test_saving_again_replaces_the_model(saved: tuple[LexicalSAE, Path]) -> None:
    model, folder = saved
    settings = json.loads((folder / SETTINGS).read_text())
    (folder / "vocab.txt").write_text("of the save before, as its settings say")
    settings["files"]["vocab.txt"] = file_hash(folder / "vocab.txt")
    (folder / SETTINGS).write_text(json.dumps(settings))
    with torch.no_grad():
        model.head.out.bias.add_(1.0)
    model.save_pretrained(folder)
    assert not (folder / "vocab.txt").exists()
    assert torch.equal(logits(LexicalSAE.from_pretrained(folder)), logits(model))
    assert hidden(folder) == []


def test_a_loaded_model_keeps_its_record(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    loaded = LexicalSAE.from_pretrained(saved[1])
    loaded.suppress(["good"])
    loaded.save_pretrained(tmp_path / "without", note="no good")
    again = LexicalSAE.from_pretrained(tmp_path / "without").record
    assert (again["dataset"], again["seed"], again["note"]) == ("toys", 5, "no good")
    assert again["sha256"] != loaded.record["sha256"]


@pytest.mark.parametrize("words", [None, [None], 3, ["good", 3]])
def test_what_is_no_word_cannot_be_suppressed(saved: tuple[LexicalSAE, Path], words: object) -> None:
    with pytest.raises(ModelError, match="Words to suppress were expected"):
        saved[0].suppress(words)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [-1, 1.5, True, None, "3"])
def test_a_cap_is_a_whole_number(saved: tuple[LexicalSAE, Path], most: object) -> None:
    with pytest.raises(ConfigError, match=r"topk_per_position is .* a whole number from 0 on"):
        saved[0].topk_per_position = most  # type: ignore[assignment]


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", 3.5])
def test_a_device_that_is_not_there(saved: tuple[LexicalSAE, Path], device: object) -> None:
    with pytest.raises(ModelError, match="cannot be put on the device"):
        LexicalSAE.from_pretrained(saved[1], device)  # type: ignore[arg-type]
