"""What the user's documents name under training and circuits does its work; `tests.test_public_names` lists it all."""

from __future__ import annotations

from pathlib import Path

import torch

from splade.circuits.losses import (
    AttributionCentroidTracker,
    FeatureFrequencyTracker,
    FrequencyPenalty,
    SeparationLoss,
    compute_gate_sparsity_loss,
    expected_active,
    gate_probabilities,
)
from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.tasks import ClassificationTask
from splade.training.loop import Trainer, train_classification
from tests.builders import build_model, encode, toy_reviews


def test_train_classification_is_the_one_loop(tmp_path: Path) -> None:
    config = TrainingConfig(lr_warmup_steps=2, active_target=10.0)
    weights = []
    for train in (train_classification, lambda *args, **options: Trainer(*args, **options).run()):
        model = build_model(tmp_path, active=10)
        tasks = [
            ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)
            for size, seed in ((64, 0), (32, 1))
        ]
        outcome = train(model, *tasks, config, batch_size=16, seed=3, folder=None)
        assert outcome.steps == 8 and not model.training
        weights.append(model.state_dict())
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_the_gate_sparsity_loss_counts_open_tokens_a_row(tmp_path: Path) -> None:
    model = build_model(tmp_path, active=10)
    state = model.classify(model(*encode(model, toy_reviews(8, seed=5)[0])))
    gate = model.encoder.gate
    loss = compute_gate_sparsity_loss(gate_probabilities(state, gate))
    assert loss.shape == () and loss > 0
    torch.testing.assert_close(loss, expected_active(state, gate).mean())
    (gradient,) = torch.autograd.grad(loss, gate.raw)
    assert float(gradient.max()) <= 0 and float(gradient.min()) < 0  # a higher threshold opens less


def test_trackers_are_what_the_losses_remember_by() -> None:
    assert issubclass(SeparationLoss, AttributionCentroidTracker)
    assert issubclass(FrequencyPenalty, FeatureFrequencyTracker)
