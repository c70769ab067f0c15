"""Names that the user's documents have under training, circuits and mechanistic are there and do their work."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
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

NAMES = (
    ("splade.training.loop", "train_classification"),
    ("splade.training.sequence_loop", "train_sequence"),
    ("splade.training.optim", "parameter_groups"),
    ("splade.training.optim", "centralise_gradients"),
    ("splade.training.constants", "VALIDATIONS_PER_RUN"),
    ("splade.circuits.core", "CircuitState"),
    ("splade.circuits.core", "circuit_mask"),
    ("splade.circuits.sequence_core", "SequenceCircuitState"),
    ("splade.circuits.sequence_core", "TagCircuitState"),
    ("splade.circuits.geco", "GECOController"),
    ("splade.circuits.losses", "compute_gate_sparsity_loss"),
    ("splade.circuits.losses", "AttributionCentroidTracker"),
    ("splade.circuits.losses", "FeatureFrequencyTracker"),
    ("splade.circuits.metrics", "CompletenessMeter"),
    ("splade.circuits.metrics", "SeparationMeter"),
    ("splade.mechanistic.attribution", "compute_attribution_tensor"),
)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_is_there(module: str, name: str) -> None:
    assert hasattr(import_module(module), name)


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
