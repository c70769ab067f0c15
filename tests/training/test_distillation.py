"""The dense teacher: teaches backbone and sparse head, is taught by the labels alone, and leaves nothing behind."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.models.lexical_sae import LexicalSAE
from splade.training.distillation import DenseTeacher
from splade.training.objective import TERMS, Objective
from tests.builders import build_model, encode, toy_reviews

TEXTS, LABELS = toy_reviews(8, seed=5)
TARGETS = torch.tensor(LABELS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("models")).eval()


@pytest.fixture
def teacher(model: LexicalSAE) -> DenseTeacher:
    torch.manual_seed(3)
    return DenseTeacher(model.backbone.hidden_size, 2)


def test_is_its_own_cross_entropy_and_the_distance_to_it(model: LexicalSAE, teacher: DenseTeacher) -> None:
    sequence = model(*encode(model, TEXTS))
    state = model.classify(sequence)
    taught = teacher.head(sequence.hidden, sequence.attention_mask)
    p, q = taught.softmax(-1), state.logits.softmax(-1)
    expected = F.cross_entropy(taught, TARGETS, reduction="none") + (p * (p / q).log()).sum(-1)
    torch.testing.assert_close(teacher(sequence, state.logits, TARGETS), expected)


def test_reaches_every_position_of_the_backbone(model: LexicalSAE, teacher: DenseTeacher) -> None:
    sequence = model(*encode(model, TEXTS))
    sequence.hidden.retain_grad()
    teacher(sequence, torch.zeros(8, 2), TARGETS).sum().backward()
    felt = sequence.hidden.grad.abs().sum(-1) > 0  # (B, L)
    assert torch.equal(felt, sequence.attention_mask.bool())


def test_is_not_drawn_to_the_sparse_head(model: LexicalSAE, teacher: DenseTeacher) -> None:
    sequence = model(*encode(model, TEXTS))

    def gradient(logits: torch.Tensor) -> torch.Tensor:
        teacher.zero_grad()
        teacher(sequence, logits, TARGETS).sum().backward(retain_graph=True)
        return teacher.head.fc2.weight.grad.clone()

    torch.testing.assert_close(gradient(torch.tensor([[9.0, -9.0]] * 8)), gradient(torch.zeros(8, 2)))


@pytest.mark.parametrize("circuit_phase", [False, True])
def test_takes_part_in_both_phases_by_its_weight(model: LexicalSAE, circuit_phase: bool) -> None:
    sequence = model(*encode(model, TEXTS))
    state = model.classify(sequence)
    config = TrainingConfig(loss_weights=LossWeights(guide=0.5, deletion=0.0))
    objective = Objective(2, model.vocab_size, config, model.backbone.hidden_size)
    plain, _ = objective(model, state, TARGETS, circuit_phase, 1.0)
    with_teacher, totals = objective(model, state, TARGETS, circuit_phase, 1.0, sequence)
    term = totals.sums[TERMS.index("guide")].item()
    assert term > 0
    assert (with_teacher - plain).item() == pytest.approx(0.5 * term, rel=1e-4)


@pytest.mark.parametrize(
    "config", [TrainingConfig(recipe="baseline"), TrainingConfig(loss_weights=LossWeights(guide=0))]
)
def test_is_not_there_unless_wanted(model: LexicalSAE, config: TrainingConfig) -> None:
    assert Objective(2, model.vocab_size, config, model.backbone.hidden_size).guide is None
