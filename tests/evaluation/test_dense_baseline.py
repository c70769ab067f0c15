"""The dense baseline: an ordinary head that trains in the same loop."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.evaluation.dense_baseline import DenseClassifier
from splade.evaluation.run import all_logits
from splade.tasks import ClassificationTask
from splade.training.loop import Trainer
from tests.builders import build_dense, toy_reviews


@pytest.fixture
def dense(tmp_path: Path) -> tuple[DenseClassifier, ClassificationTask]:
    model = build_dense(tmp_path)
    return model, ClassificationTask(TextSplit(*toy_reviews(96)), model.tokenizer, 24)


def test_padding_changes_nothing(dense: tuple[DenseClassifier, ClassificationTask]) -> None:
    model, task = dense
    model.eval()
    with torch.no_grad():
        together = task.predict(model, task.batch(range(8))).logits
        alone = torch.cat([task.predict(model, task.batch([row])).logits for row in range(8)])
    assert together.shape == (8, 2)
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_trains_in_the_same_loop_without_a_circuit_phase(dense: tuple[DenseClassifier, ClassificationTask]) -> None:
    model, task = dense
    config = TrainingConfig(
        recipe="baseline", epochs=12, learning_rate=3e-3, head_learning_rate=1e-2, lr_warmup_steps=2
    )
    outcome = Trainer(model, task, task, config, batch_size=16, seed=0, folder=None).run()
    classes = task.decide_classes(all_logits(model, task, 32))
    assert outcome.satisfied and outcome.tau is None and outcome.validation["active"] == 0.0
    assert float((classes == task.labels).mean()) == pytest.approx(outcome.validation["accuracy"])
    assert outcome.validation["accuracy"] > 0.8
