"""A saved model is the same model, and a folder that is none, or damaged, says so in one sentence."""

from __future__ import annotations

import hashlib
import json
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from splade.errors import LexicalSAEError, ModelError
from splade.models import saving
from splade.models.backbone import Backbone, Head
from splade.models.lexical_sae import LexicalSAE
from splade.models.saving import SETTINGS, WEIGHTS, library_versions, load_model
from tests.builders import FAMILIES, build_backbone_folder, build_model, encode, toy_reviews

TEXTS = [*toy_reviews(12)[0], "unwatchable unlovely", "", "ü 👍"]


@pytest.fixture
def saved(tmp_path: Path) -> tuple[LexicalSAE, Path]:
    model = build_model(tmp_path, "neighbourhood+dictionary")
    model.save_pretrained(tmp_path / "model", dataset="toys", seed=5)
    return model, tmp_path / "model"


@torch.no_grad()
def logits(model: LexicalSAE) -> torch.Tensor:
    return model.classify(model(*encode(model, TEXTS))).logits


def expect(folder: Path, *parts: str) -> None:
    with pytest.raises(ModelError) as error:
        LexicalSAE.from_pretrained(folder)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


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
    assert content_hash == hashlib.sha256((tmp_path / "model" / WEIGHTS).read_bytes()).hexdigest()


@pytest.mark.parametrize("head", ["trained", "repaired"])
@pytest.mark.parametrize("family", FAMILIES)
def test_reading_it_without_random_weights_first_changes_nothing(tmp_path: Path, family: str, head: Head) -> None:
    folder = build_backbone_folder(tmp_path, family, head=head == "trained")
    folder.rename(tmp_path / family)
    build_model(tmp_path, "neighbourhood", family).save_pretrained(tmp_path / "model")
    drawn, read = (load_model(tmp_path / "model", draw=draw).eval() for draw in (True, False))
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

    drawn = after(lambda: load_model(folder, draw=True))
    assert torch.equal(after(lambda: Backbone.from_name(str(folder))), drawn)
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
    backbone, tokenizer = Backbone.from_name(str(tmp_path / "model"))
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
    assert tensors["encoder.supports.0.neighbours"].shape == (saved[0].vocab_size, 6)
    assert len(tensors["encoder.supports.1.tokens"]) > 0


def test_the_settings_say_what_the_model_is(saved: tuple[LexicalSAE, Path]) -> None:
    settings = json.loads((saved[1] / SETTINGS).read_text())
    assert settings["versions"] == library_versions() and "torch" in settings["versions"]
    assert (settings["dataset"], settings["seed"], settings["labels"]) == ("toys", 5, ["class 0", "class 1"])
    assert LexicalSAE.from_pretrained(saved[1]).record == settings


def test_nothing_that_could_run_code_is_written(saved: tuple[LexicalSAE, Path]) -> None:
    assert {path.suffix for path in saved[1].iterdir()} == {".json", ".safetensors"}


def test_saving_again_replaces_the_folder_whole(saved: tuple[LexicalSAE, Path]) -> None:
    model, folder = saved
    (folder / "stray").write_text("x")
    with torch.no_grad():
        model.head.out.bias.add_(1.0)
    model.save_pretrained(folder)
    assert not (folder / "stray").exists()
    assert torch.equal(logits(LexicalSAE.from_pretrained(folder)), logits(model))
    assert [path.name for path in folder.parent.glob(".writing*")] == []


class TestDamage:
    def test_one_flipped_bit_of_the_weights(self, saved: tuple[LexicalSAE, Path]) -> None:
        path = saved[1] / WEIGHTS
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        expect(saved[1], str(path), "damaged", "does not match its hash", "copy or train the model again")

    @pytest.mark.parametrize("name", [WEIGHTS, SETTINGS, "config.json", "tokenizer.json"])
    def test_a_file_cut_short(self, saved: tuple[LexicalSAE, Path], name: str) -> None:
        path = saved[1] / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        expect(saved[1], str(saved[1]), "again")

    @pytest.mark.parametrize("name", [WEIGHTS, "config.json"])
    def test_a_file_missing(self, saved: tuple[LexicalSAE, Path], name: str) -> None:
        (saved[1] / name).unlink()
        expect(saved[1], str(saved[1]), "again")

    @pytest.mark.parametrize(
        ("change", "parts"),
        [
            ({"format": 99}, ("format 99", "this version reads format 2")),
            ({"labels": ["only"]}, ("cannot be read",)),
            ({"model": {"support": "everything"}}, ("support", "full")),
        ],
    )
    def test_settings_that_do_not_fit(
        self, saved: tuple[LexicalSAE, Path], change: dict[str, object], parts: tuple[str, ...]
    ) -> None:
        path = saved[1] / SETTINGS
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        with pytest.raises(LexicalSAEError) as error:
            LexicalSAE.from_pretrained(saved[1])
        assert all(part in str(error.value) for part in parts) and "\n" not in str(error.value)

    def test_a_folder_that_is_no_model(self, tmp_path: Path) -> None:
        expect(tmp_path, "is not a saved Lexical-SAE model", f"has no {SETTINGS}", "output_dir")
        expect(tmp_path / "nowhere", "is no folder")


class TestFullDisk:
    def test_leaves_the_earlier_model(
        self, saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        model, folder = saved
        before = (folder / WEIGHTS).read_bytes()
        monkeypatch.setattr(saving, "save_file", full_disk)
        with pytest.raises(ModelError, match=r"could not be written to .*No space left on device.*--resume"):
            model.save_pretrained(folder)
        assert (folder / WEIGHTS).read_bytes() == before
        assert [path.name for path in folder.parent.glob(".writing*")] == []

    def test_also_as_safetensors_itself_reports_it(self, saved: tuple[LexicalSAE, Path]) -> None:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, limit[1]))  # no file may grow beyond 64 KB
        try:
            with pytest.raises(ModelError, match=r"could not be written to .*[Tt]oo large"):
                saved[0].save_pretrained(saved[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert (saved[1] / WEIGHTS).exists()
