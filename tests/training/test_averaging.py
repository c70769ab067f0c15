"""The moving average of the weights is what is validated, kept and saved, and training goes on beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.evaluation.mechanistic import all_logits
from splade.tasks import ClassificationTask
from splade.training.averaging import FIRST_STEPS, WeightAverage
from splade.training.loop import Trainer
from tests.builders import build_model, toy_reviews


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Trainer]:
    def trainer(weight_ema: float) -> Trainer:
        model = build_model(tmp_path, active=10)
        train, validation = (
            ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)
            for size, seed in ((64, 0), (32, 1))
        )
        config = TrainingConfig(
            learning_rate=1e-3,
            head_learning_rate=1e-2,
            lr_warmup_steps=2,
            active_target=10.0,
            eval_every=8,
            weight_ema=weight_ema,
        )
        return Trainer(model, train, validation, config, batch_size=16, seed=3, folder=None)

    return trainer


def test_the_average_is_quick_at_first_and_then_as_slow_as_asked() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average, expected = WeightAverage(model, 0.9), 0.0
    for step in range(200):
        nn.init.constant_(model.weight, step + 1.0)
        average.update(step)
        decay = min(0.9, (1 + step) / (FIRST_STEPS + step))
        expected = decay * expected + (1 - decay) * (step + 1)
    assert model.weight.item() == 200
    average.eval()
    assert model.weight.item() == pytest.approx(expected, rel=1e-5)
    assert 188 < expected < 195  # about ten steps behind
    average.eval()  # twice is once
    assert model.weight.item() == pytest.approx(expected, rel=1e-5)
    average.train()
    assert model.weight.item() == 200


def test_it_looks_and_does_not_touch(build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights trained are the very same with an average beside them."""
    seen: list[dict[str, torch.Tensor]] = []
    for decay in (0.0, 0.9):
        trainer = build(decay)
        validate = trainer._validate_and_select

        def noting(progress: object, trainer: Trainer = trainer, validate: Callable = validate) -> bool:  # type: ignore[type-arg]
            out = validate(progress)
            seen.append({name: p.detach().clone() for name, p in trainer.model.named_parameters()})
            return out

        monkeypatch.setattr(trainer, "_validate_and_select", noting)
        trainer.run()
    assert all(torch.equal(one, seen[1][name]) for name, one in seen[0].items())


def test_the_weights_kept_are_the_averages_that_were_validated(build: Callable[..., Trainer]) -> None:
    trainer, plain = build(0.9), build(0.0)
    outcome, other = trainer.run(), plain.run()
    assert outcome.kept_step == other.kept_step == 8
    found = all_logits(trainer.model, trainer.validation_task, 64).argmax(-1).numpy()
    gold = trainer.validation_task.labels
    assert outcome.validation["accuracy"] == pytest.approx(float((found == gold).mean()), abs=1e-9)
    with torch.no_grad():
        assert trainer.validate().figures() == pytest.approx(outcome.validation, abs=1e-6)
    assert outcome.validation["ce"] != pytest.approx(other.validation["ce"], abs=1e-4)
    held = trainer.learner.average
    average = held.weights if held.evaluating else held.shadow
    for name, parameter in trainer.model.named_parameters():
        if parameter.requires_grad:
            assert torch.equal(parameter, average[name]), name  # the only validation was after the last step
