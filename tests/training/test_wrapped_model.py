"""A model inside another trains as it would alone: losses, rates and thresholds go by what it offers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.circuits.metrics import CompletenessMeter
from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.tasks import ClassificationTask
from splade.training.loop import Trainer
from splade.training.objective import TERMS
from tests.builders import Wrapper, build_model, toy_reviews


class WithoutToken(Wrapper):
    """A wrapper that shuts one token whatever the text."""

    token = 0

    def decide(self, rows: SparseRows, scores: Tensor | None = None) -> CircuitState:
        return self.inside.decide(rows.with_value(torch.where(rows.token == self.token, 0.0, rows.value)), scores)


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Trainer]:
    def trainer(wrap: Callable[[LexicalSAE], Any], folder: Path | None = None, **settings: Any) -> Trainer:
        model = build_model(tmp_path, active=10)
        train, validation = (
            ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)
            for size, seed in ((64, 0), (32, 1))
        )
        config = TrainingConfig(
            **{"learning_rate": 1e-3, "head_learning_rate": 1e-2, "lr_warmup_steps": 2, "active_target": 2.0} | settings
        )
        return Trainer(wrap(model), train, validation, config, batch_size=16, seed=3, folder=folder)

    return trainer


@pytest.mark.parametrize("settings", [{"recipe": "cajt", "anchor": "own_token"}, {"recipe": "cis"}])
def test_ends_in_the_very_same_weights(build: Callable[..., Trainer], settings: dict[str, str]) -> None:
    trainers, outcomes = [], []
    for wrap in (lambda model: model, Wrapper):  # one after the other: both draw from one generator, which starts anew
        trainers.append(build(wrap, **settings))
        outcomes.append(trainers[-1].run())
    alone, wrapped = trainers
    assert outcomes[0].validation == outcomes[1].validation and outcomes[0].validation["active"] > 0
    for name, tensor in alone.model.state_dict().items():
        assert torch.equal(tensor, wrapped.model.state_dict()[f"inside.{name}"]), name


def test_has_every_loss_of_its_recipe(build: Callable[..., Trainer]) -> None:
    trainer = build(Wrapper, recipe="cajt", anchor="own_token")
    trainer.start()
    while trainer.step < trainer.total:
        totals = trainer.advance().totals
    sums = dict(zip(TERMS, totals.sums.tolist(), strict=True))
    expected = {"completeness", "separation", "sparsity", "guide", "anchor", "deletion", "active"}
    assert {name for name in expected if sums[name] > 0} == expected


def test_its_thresholds_are_held_in_the_warmup_and_restored(build: Callable[..., Trainer], tmp_path: Path) -> None:
    trainer = build(Wrapper, tmp_path / "run", save_every=1)
    raw = trainer.model.encoder.gate.raw
    before = raw.detach().clone()
    trainer.start()
    while trainer.step < trainer.warmup:
        trainer.advance()
    assert torch.equal(raw, before)
    trainer.run()
    again = build(Wrapper, tmp_path / "run", save_every=1)
    again.model.encoder.gate.scale.fill_(7.0)
    again.run(resume=True)
    assert torch.equal(again.model.encoder.gate.scale, trainer.model.encoder.gate.scale)


@torch.no_grad()
def test_its_circuits_are_completed_by_its_own_decision(tmp_path: Path) -> None:
    model = build_model(tmp_path, active=10).eval()
    texts = ClassificationTask(TextSplit(*toy_reviews(16, 0)), model.tokenizer, 24)
    batch = texts.batch(range(16))
    state = texts.predict(model, batch)
    attribution = compute_attribution_tensor(state, batch.labels)
    wrapped = WithoutToken(model)
    wrapped.token = int(attribution.token[attribution.value.abs().argmax()])
    kl = []
    for measured in (model, wrapped):
        meter = CompletenessMeter(measured, [1.0])
        meter.add(state, attribution, batch.labels)
        kl.append(meter.result()[1.0].kl)
    assert kl[0] == pytest.approx(0, abs=1e-6) and kl[1] > 1e-4
