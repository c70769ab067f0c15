"""The range test: finds a sensible rate, says it, and leaves no other trace."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console

from splade.config.load import load_config
from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.tasks import ClassificationTask
from splade.training import lr_range
from splade.training.loop import Trainer
from splade.training.lr_range import choose, find_learning_rate
from tests.builders import build_model, toy_reviews


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lr_range, "STEPS", 12)


def build(folder: Path, rate: float | str, said: io.StringIO | None = None) -> Trainer:
    model = build_model(folder, active=10, token_dropout=0.2)
    task = ClassificationTask(TextSplit(*toy_reviews(64, 0)), model.tokenizer, 24)
    config = TrainingConfig(learning_rate=rate, head_learning_rate=1e-2, lr_warmup_steps=2, max_steps=6)  # type: ignore[arg-type]
    return Trainer(
        model, task, task, config, batch_size=16, seed=3, folder=None, console=Console(file=said or io.StringIO())
    )


def test_the_rate_is_a_tenth_of_the_one_after_which_the_loss_rises() -> None:
    rates = [10.0**e for e in range(-6, 0)]
    assert choose(rates, [1.0, 1.0, 0.8, 0.3, 5.0, 9.0]) == pytest.approx(1e-4)
    assert choose(rates, [1.0, 1.0, 0.9, 0.8, 0.6, 0.4]) == pytest.approx(1e-2)  # never rises: the highest tried


def test_one_lucky_batch_does_not_decide() -> None:
    rates = [float(n) for n in range(1, 13)]
    losses = [1.0, 0.05, 1.0, 0.9, 0.8, 0.6, 0.4, 0.3, 0.3, 0.3, 3.0, 9.0]
    assert choose(rates, losses) > 0.5


def test_everything_is_put_back(tmp_path: Path) -> None:
    trainer = build(tmp_path, "auto")
    named = [*trainer.model.named_parameters(), *trainer.learner.objective.named_parameters(prefix="objective")]
    weights, state = {name: p.detach().clone() for name, p in named}, torch.get_rng_state()
    first, second = (find_learning_rate(trainer.learner, trainer.batches.epoch(0)) for _ in range(2))
    assert first == second and 1e-7 <= first <= 3e-3
    assert all(torch.equal(p, weights[name]) and p.grad is None for name, p in named)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_training_at_the_rate_found_is_the_one_that_found_it(tmp_path: Path) -> None:
    said = io.StringIO()
    found = build(tmp_path, "auto", said)
    outcome = found.run()
    assert f"Learning rate {outcome.learning_rate:g}, found by a range test." in said.getvalue()
    given = build(tmp_path, outcome.learning_rate)
    assert given.run().learning_rate == outcome.learning_rate
    for (name, one), two in zip(found.model.named_parameters(), given.model.parameters(), strict=True):
        assert torch.equal(one, two), name


def test_rates_that_blow_up_end_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lr_range, "HIGHEST", 1e6)
    trainer = build(tmp_path, "auto")
    assert find_learning_rate(trainer.learner, trainer.batches.epoch(0)) < 1e3


def test_auto_is_a_setting_and_other_words_are_not() -> None:
    assert load_config(None, ["training.learning_rate=auto"]).training.learning_rate == "auto"
    with pytest.raises(ConfigError, match=r"training\.learning_rate must be a number"):
        load_config(None, ["training.learning_rate=automatic"])
