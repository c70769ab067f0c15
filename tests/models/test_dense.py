"""The dense baseline is saved and loaded as our own models are, and the two are never taken for each other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import torch

from splade.data.types import TaggedSplit, TextSplit
from splade.errors import ModelError
from splade.models.dense import DenseClassifier
from splade.models.folder import SETTINGS, WEIGHTS, remove_model
from splade.models.lexical_sae import LexicalSAE
from splade.models.rehash import rehash_model
from splade.tasks import TASKS
from tests.builders import build_dense, build_model, tagged_sentences, toy_reviews


@torch.no_grad()
def logits(model: DenseClassifier) -> torch.Tensor:
    """Of a few texts, by the model's own tokenizer, labels and length."""
    split = TaggedSplit(*tagged_sentences(8)) if model.task == "tagging" else TextSplit(*toy_reviews(8))
    task = TASKS.get(model.task)(split, model.tokenizer, model.max_length, model.labels)
    return task.predict(model, task.batch(range(8))).logits


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, task: Literal["classification", "tagging"]) -> None:
    model = build_dense(tmp_path, task=task)
    model.save_pretrained(tmp_path / "model", seed=5)
    before = torch.get_rng_state()
    loaded = DenseClassifier.from_pretrained(tmp_path / "model", "cpu")
    assert torch.equal(torch.get_rng_state(), before)  # what the saved weights replace is not drawn first
    assert torch.equal(logits(loaded), logits(model))
    for name in ("labels", "max_length", "task", "config"):
        assert getattr(loaded, name) == getattr(model, name)
    assert loaded.record["seed"] == 5 and not loaded.training
    assert sorted(path.suffix for path in (tmp_path / "model").iterdir() if path.suffix != ".json") == [".safetensors"]
    ids = torch.tensor([[2, 5, 3]])
    assert loaded(ids, torch.ones_like(ids)).shape == (1, 3, 32)


def test_neither_is_taken_for_the_other(tmp_path: Path) -> None:
    build_dense(tmp_path).save_pretrained(tmp_path / "dense")
    build_model(tmp_path).save_pretrained(tmp_path / "own")
    with pytest.raises(ModelError, match=r"holds a dense baseline, and a Lexical-SAE model was expected; name the"):
        LexicalSAE.from_pretrained(tmp_path / "dense")
    with pytest.raises(ModelError, match=r"holds a Lexical-SAE model, and a dense baseline was expected; .*dense"):
        DenseClassifier.from_pretrained(tmp_path / "own")


def test_a_missing_or_damaged_folder_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "dense"
    with pytest.raises(ModelError, match=r"not a saved dense baseline: it is no folder; .*dense_baseline=true left"):
        DenseClassifier.from_pretrained(folder)
    model = build_dense(tmp_path)
    model.save_pretrained(folder)
    weights = (folder / WEIGHTS).read_bytes()
    for damaged in (weights[:-1] + bytes([weights[-1] ^ 1]), weights[: len(weights) // 2]):
        (folder / WEIGHTS).write_bytes(damaged)
        with pytest.raises(ModelError, match=r"model.safetensors is damaged or was changed.*again") as error:
            DenseClassifier.from_pretrained(folder)
        assert "\n" not in str(error.value)
    (folder / WEIGHTS).write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert rehash_model(folder) == [WEIGHTS]  # as the sentence says: taken as it is
    assert DenseClassifier.from_pretrained(folder).labels == model.labels


def test_removing_a_model_leaves_what_is_somebody_elses(tmp_path: Path) -> None:
    build_dense(tmp_path).save_pretrained(tmp_path / "dense")
    (tmp_path / "dense" / "mine.txt").write_text("mine")
    remove_model(tmp_path / "dense")
    assert [path.name for path in (tmp_path / "dense").iterdir()] == ["mine.txt"]
    (tmp_path / "dense" / "mine.txt").unlink()
    build_dense(tmp_path).save_pretrained(tmp_path / "dense")
    assert (tmp_path / "dense" / SETTINGS).exists()
    remove_model(tmp_path / "dense")
    assert not (tmp_path / "dense").exists()
    remove_model(tmp_path / "dense")
