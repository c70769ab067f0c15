"""The masked-LM warm-up: hides what it says, learns to guess, gives the same weights again and leaves a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from splade.config.schema import Config, ModelConfig, TrainingConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.models.backbone import Backbone
from splade.pipelines import prepare, setup_and_train
from splade.tasks import ClassificationTask
from splade.training.constants import PROVISIONAL_LEARNING_RATE
from splade.training.mlm import mask_tokens, mlm_warmup
from tests.builders import build_backbone_folder, build_tokenizer, toy_reviews
from tests.runs import ToyRun, weights
from tests.training.test_resume import history, resume, train_until_killed

CONFIG = Config(
    model=ModelConfig(dtype="float32"),
    training=TrainingConfig(mlm_warmup_steps=40, learning_rate=3e-3, head_learning_rate=1e-2, log_every=10),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_backbone_folder(tmp_path_factory.mktemp("headless"), "bert", head=False, dropout=0.1)


def warm(folder: Path, config: Config = CONFIG) -> tuple[Backbone, list[dict[str, float]]]:
    backbone, tokenizer = Backbone.from_name(str(folder))
    assert backbone.head == "repaired"
    backbone.freeze_embeddings()
    task = ClassificationTask(TextSplit(*toy_reviews(64)), tokenizer, 24)
    before = torch.get_rng_state()
    lines = mlm_warmup(backbone, tokenizer, task, config, 16)
    assert torch.equal(torch.get_rng_state(), before)  # what comes after draws as it would have without
    assert all(parameter.grad is None for parameter in backbone.parameters())
    return backbone, lines


def test_learns_to_guess_hidden_words(folder: Path) -> None:
    untrained, _ = Backbone.from_name(str(folder))
    backbone, lines = warm(folder)
    assert [line["mlm_step"] for line in lines] == [10, 20, 30, 40]
    assert all(line["step"] == 0 and line["phase"] == "mlm" for line in lines)
    assert lines[-1]["mlm_loss"] < 0.8 * lines[0]["mlm_loss"]
    assert lines[-1]["mlm_accuracy"] > lines[0]["mlm_accuracy"]
    moved = {n for n, p in backbone.named_parameters() if not torch.equal(p, untrained.get_parameter(n))}
    assert {name.split(".")[3] for name in moved if ".layer." in name} == {"0", "1"}  # every layer
    assert any("transform" in name for name in moved)  # and the repaired head
    assert backbone.decoder()[1].any()
    assert torch.equal(backbone.input_embeddings().weight, untrained.input_embeddings().weight)
    assert not backbone.training


def test_the_same_seed_gives_the_same_weights(folder: Path) -> None:
    short = replace(CONFIG, training=replace(CONFIG.training, mlm_warmup_steps=3))
    first, _ = warm(folder, short)
    second, _ = warm(folder, short)
    assert all(torch.equal(p, second.get_parameter(name)) for name, p in first.named_parameters())
    assert torch.equal(first.decoder()[1], second.decoder()[1])


def test_a_rate_of_auto_is_not_found_yet(folder: Path) -> None:
    short = replace(CONFIG.training, mlm_warmup_steps=2)
    auto, known = (
        warm(folder, replace(CONFIG, training=replace(short, learning_rate=rate)))[0]
        for rate in ("auto", PROVISIONAL_LEARNING_RATE)
    )
    assert all(torch.equal(p, known.get_parameter(name)) for name, p in auto.named_parameters())


def test_hides_a_seventh_of_the_words_and_nothing_else() -> None:
    tokenizer = build_tokenizer()
    ids = torch.randint(10, len(tokenizer), (200, 50), generator=torch.Generator().manual_seed(0))
    ids[:, 0], mask = tokenizer.cls_token_id, torch.ones_like(ids)
    mask[:, 40:] = 0
    shown, chosen = mask_tokens(ids, mask, tokenizer, torch.Generator().manual_seed(1))
    assert not chosen[:, 0].any() and not chosen[:, 40:].any()
    assert torch.equal(shown[~chosen], ids[~chosen])
    assert chosen[:, 1:40].float().mean() == pytest.approx(0.15, abs=0.02)
    assert (shown[chosen] == tokenizer.mask_token_id).float().mean() == pytest.approx(0.8, abs=0.04)
    assert (shown[chosen] == ids[chosen]).float().mean() == pytest.approx(0.1, abs=0.03)


def test_a_tokenizer_without_a_mask_is_refused(folder: Path) -> None:
    backbone, tokenizer = Backbone.from_name(str(folder))
    task = ClassificationTask(TextSplit(*toy_reviews(4)), tokenizer, 24)
    tokenizer.mask_token = None
    with pytest.raises(ConfigError, match="no mask token"):
        mlm_warmup(backbone, tokenizer, task, CONFIG, 4)


def test_a_killed_run_ends_with_the_same_weights_and_lines(toy_run: ToyRun, folder: Path, tmp_path: Path) -> None:
    changes = {"training__mlm_warmup_steps": 4, "model__name": str(folder)}
    setup_and_train(toy_run.config(tmp_path / "whole", **changes))
    assert [line.get("mlm_step") for line in history(tmp_path / "whole")][:3] == [2, 4, None]
    train_until_killed(toy_run, tmp_path / "cut", 11, **changes)
    resume(toy_run, tmp_path / "cut", **changes)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    assert history(tmp_path / "cut")[:2] == history(tmp_path / "whole")[:2]  # its own lines, once


def test_a_dry_run_leaves_it_out(toy_run: ToyRun, folder: Path, tmp_path: Path) -> None:
    config = toy_run.config(tmp_path / "out", training__mlm_warmup_steps=4, model__name=str(folder))
    assert not prepare(config, dry_run=True).trainer.opening
