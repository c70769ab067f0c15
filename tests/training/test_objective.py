"""The objective: rows weigh alike however they are batched, and each recipe has its own terms."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.circuits.losses import expected_active
from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.errors import ConfigError
from splade.models.lexical_sae import LexicalSAE
from splade.training.objective import TERMS, Objective
from splade.training.recipes import RECIPES
from tests.builders import build_model, encode, toy_reviews

TEXTS, LABELS = toy_reviews(8, seed=5)
CE_WEIGHT = 1.7


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    # No row has so many active tokens that it is crowded, which is another pressure than that of the average.
    return build_model(tmp_path_factory.mktemp("models"), "neighbourhood+dictionary", active=9).train()


@pytest.fixture
def objective(model: LexicalSAE) -> Objective:
    """In the midst of a circuit phase, with every term at work."""
    objective = Objective(2, model.vocab_size, TrainingConfig(active_target=4.0, sparsity_target=0.3))
    state = predict(model, TEXTS)
    objective(model, state, torch.tensor(LABELS), True, 1.0)
    objective.end_step(lambda tensor: tensor, len(TEXTS))
    assert objective.active_before > 4
    return objective


def predict(model: LexicalSAE, texts: list[str]) -> CircuitState:
    return model.classify(model(*encode(model, texts)))


def accumulate(model: LexicalSAE, objective: Objective, parts: list[slice]) -> tuple[dict[str, Tensor], Tensor]:
    """Gradients and totals of one step over these parts of the batch."""
    model.zero_grad(), objective.zero_grad()
    sums = torch.zeros(len(TERMS))
    for part in parts:
        loss, totals = objective(model, predict(model, TEXTS[part]), torch.tensor(LABELS[part]), True, CE_WEIGHT)
        (loss / len(TEXTS)).backward()
        assert totals.rows == len(TEXTS[part])
        sums += totals.sums
    named = [*model.named_parameters(), *objective.named_parameters(prefix="objective")]
    return {name: p.grad.clone() for name, p in named if p.grad is not None}, sums


def term(sums: Tensor, name: str) -> float:
    return sums[TERMS.index(name)].item()


@pytest.mark.parametrize("parts", [[slice(0, 4), slice(4, 8)], [slice(0, 1), slice(1, 6), slice(6, 8)]])
def test_parts_of_a_batch_add_up_to_the_whole(model: LexicalSAE, objective: Objective, parts: list[slice]) -> None:
    expected, sums = accumulate(model, objective, [slice(0, 8)])
    objective._pending = {}
    gradients, part_sums = accumulate(model, objective, parts)
    assert all(term(sums, name) > 0 for name in ("ce", "completeness", "separation", "sparsity", "active"))
    torch.testing.assert_close(part_sums, sums, rtol=1e-4, atol=1e-4)
    assert gradients.keys() == expected.keys()
    assert "objective.separation.raw_margin" in gradients and "encoder.gate.raw" in gradients
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


def test_memory_moves_once_a_step_and_alike_however_batched(model: LexicalSAE, objective: Objective) -> None:
    before = {name: buffer.clone() for name, buffer in objective.named_buffers()}
    accumulate(model, objective, [slice(0, 8)])
    for name, buffer in objective.named_buffers():
        assert torch.equal(buffer, before[name])  # nothing moves within a step
    objective.end_step(lambda tensor: tensor, 8)
    whole = {name: buffer.clone() for name, buffer in objective.named_buffers()}
    assert not torch.equal(whole["separation.centroids"], before["separation.centroids"])
    assert not torch.equal(whole["frequency.near"], before["frequency.near"])

    objective.load_state_dict({**objective.state_dict(), **before})
    accumulate(model, objective, [slice(0, 3), slice(3, 8)])
    objective.end_step(lambda tensor: tensor, 8)
    for name, buffer in objective.named_buffers():
        torch.testing.assert_close(buffer, whole[name], rtol=1e-4, atol=1e-5)


def test_a_process_without_rows_takes_part_in_every_sum(model: LexicalSAE) -> None:
    config = TrainingConfig()
    busy, idle = Objective(2, model.vocab_size, config), Objective(2, model.vocab_size, config)
    busy(model, predict(model, TEXTS), torch.tensor(LABELS), True, 1.0)
    sent: list[Tensor] = []
    busy.end_step(lambda tensor: sent.append(tensor) or tensor, 8)
    waiting = iter(sent)

    def add_up(tensor: Tensor) -> Tensor:
        other = next(waiting)
        assert tensor.shape == other.shape and not tensor.any()
        return tensor + other

    idle.end_step(add_up, 8)
    assert next(waiting, None) is None
    for (name, mine), (_, theirs) in zip(idle.named_buffers(), busy.named_buffers(), strict=True):
        assert torch.equal(mine, theirs), name


def test_the_warmup_is_cross_entropy_alone(model: LexicalSAE, objective: Objective) -> None:
    state, labels = predict(model, TEXTS), torch.tensor(LABELS)
    loss, totals = objective(model, state, labels, False, CE_WEIGHT)
    torch.testing.assert_close(loss, F.cross_entropy(state.logits, labels, reduction="sum"))
    assert term(totals.sums, "correct") == (state.logits.argmax(1) == labels).sum()
    assert term(totals.sums, "active") == (state.rows.value > 0).sum()
    assert all(term(totals.sums, name) == 0 for name in ("completeness", "separation", "sparsity", "frequency"))


def test_the_loss_is_the_weighted_sum_of_its_terms(model: LexicalSAE) -> None:
    weights = LossWeights(completeness=2.0, separation=3.0, sparsity=0.5, frequency=0.7)
    objective = Objective(2, model.vocab_size, TrainingConfig(loss_weights=weights, active_target=4.0))
    state, labels = predict(model, TEXTS), torch.tensor(LABELS)
    for _ in range(2):  # the second time with centroids
        loss, totals = objective(model, state, labels, True, CE_WEIGHT)
        objective.end_step(lambda tensor: tensor, 8)
    expected = CE_WEIGHT * term(totals.sums, "ce") + sum(
        getattr(weights, name) * term(totals.sums, name)
        for name in ("completeness", "separation", "sparsity", "frequency")
    )
    assert loss.item() == pytest.approx(expected, rel=1e-4)


def test_label_smoothing_spreads_the_target(model: LexicalSAE) -> None:
    state, labels = predict(model, TEXTS), torch.tensor(LABELS)
    smooth = Objective(2, model.vocab_size, TrainingConfig(label_smoothing=0.2)).cross_entropy(state.logits, labels)
    log_p = state.logits.log_softmax(1)
    expected = -0.8 * log_p.gather(1, labels[:, None])[:, 0] - 0.2 * log_p.mean(1)
    torch.testing.assert_close(smooth, expected)


class TestSparsity:
    def sparsity(self, model: LexicalSAE, objective: Objective, state: CircuitState) -> Tensor:
        return objective._circuit_terms(model, state, torch.tensor(LABELS))["sparsity"]

    def test_acts_above_its_target(self, model: LexicalSAE, objective: Objective) -> None:
        objective.active_before = torch.tensor(4.01)
        state = predict(model, TEXTS)
        loss = self.sparsity(model, objective, state)
        torch.testing.assert_close(loss, expected_active(state, model.encoder.gate) / 4.0)
        (gradient,) = torch.autograd.grad(loss.sum(), model.encoder.gate.raw)
        assert (gradient <= 0).all() and gradient.any()  # descending it raises thresholds

    def test_does_not_act_at_or_below_it(self, model: LexicalSAE, objective: Objective) -> None:
        for active in (4.0, 1.0):
            objective.active_before = torch.tensor(active)
            loss = self.sparsity(model, objective, predict(model, TEXTS))
            assert not loss.any()
            (gradient,) = torch.autograd.grad(loss.sum(), model.encoder.gate.raw)
            assert not gradient.any()

    def test_is_decided_by_the_active_tokens_a_row_of_the_step_before(
        self, model: LexicalSAE, objective: Objective
    ) -> None:
        accumulate(model, objective, [slice(0, 3), slice(3, 8)])
        objective.end_step(lambda tensor: tensor, 8)
        active = (predict(model, TEXTS).rows.value > 0).sum() / 8
        torch.testing.assert_close(objective.active_before, active)


class TestRecipes:
    def test_baseline_is_cross_entropy_only(self, model: LexicalSAE) -> None:
        assert not RECIPES.get("baseline").has_circuit_phase
        objective = Objective(2, model.vocab_size, TrainingConfig(recipe="baseline"))
        assert list(objective.parameters()) == []
        state, labels = predict(model, TEXTS), torch.tensor(LABELS)
        loss, totals = objective(model, state, labels, True, 1.0)
        torch.testing.assert_close(loss, F.cross_entropy(state.logits, labels, reduction="sum"))
        assert all(term(totals.sums, name) == 0 for name in ("completeness", "separation", "sparsity", "frequency"))
        objective.end_step(lambda tensor: tensor, 8)  # and there is nothing to move

    def test_cajt_has_every_term(self) -> None:
        recipe = RECIPES.get("cajt")
        assert recipe.completeness and recipe.separation and recipe.sparsity and recipe.frequency
        assert recipe.has_circuit_phase

    def test_an_unknown_recipe_suggests_the_nearest(self) -> None:
        with pytest.raises(ConfigError, match="Did you mean 'baseline'"):
            RECIPES.get("basline")
