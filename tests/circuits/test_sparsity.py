"""Sparsity: what each kind presses on, and that all of them reach their target and stop there."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.circuits.losses import FREQUENCY_DECAY, expected_active, token_counts
from splade.circuits.sparsity import COMMON, CROWDED, SPARSITIES, DocumentFrequencyFlops, SparsityLoss
from splade.models.heads import HeadParts, MLPSettings, ReluMLP
from splade.models.layers.activation import GATES, ThresholdGate
from tests.builders import sparse_rows

VOCAB = 40


def gate_of(kind: str = "drelu", theta: float = 1.0, scale: float = 4.0) -> ThresholdGate:
    gate = GATES.get(kind)(VOCAB)
    gate.calibrate(theta, scale)
    return gate


def state(gate: ThresholdGate, *scores: dict[int, float]) -> CircuitState:
    rows = sparse_rows(*scores, vocab_size=VOCAB)
    z = rows.value.requires_grad_()
    gated = rows.with_value(gate(z, rows.token))
    logits, region = ReluMLP(HeadParts(torch.zeros(VOCAB, 1), 4, 2), MLPSettings(hidden_bias=True))(gated)
    return CircuitState(logits, gated, z, region)


def pressed(loss: SparsityLoss, gate: ThresholdGate, steps: int, rate: float) -> list[float]:
    """Active tokens a row while only this loss moves the thresholds, as the objective would apply it."""
    z = 4 * torch.rand(8, VOCAB, generator=torch.Generator().manual_seed(0))  # evenly from 0 to 4
    rows = sparse_rows(*(dict(enumerate(row)) for row in z.tolist()), vocab_size=VOCAB)
    optimizer = torch.optim.Adam(gate.parameters(), lr=rate)
    active, counts = torch.tensor(math.inf), []
    for _ in range(steps):
        gated = rows.with_value(gate(rows.value, rows.token))
        here = CircuitState(torch.empty(0), gated, rows.value, None)  # type: ignore[arg-type]
        optimizer.zero_grad()
        loss(here, gate, active).sum().backward()
        optimizer.step()
        if isinstance(loss, DocumentFrequencyFlops):
            loss.update(token_counts(here, gate), 8)
        active = gate.opens(rows.value, rows.token).sum() / 8
        counts.append(active.item())
    return counts


@pytest.mark.parametrize("gate", GATES.names())
@pytest.mark.parametrize("kind", SPARSITIES.names())
def test_the_number_of_active_tokens_falls_to_its_target_and_stays(kind: str, gate: str) -> None:
    counts = pressed(SPARSITIES.get(kind)(VOCAB, 24.0), gate_of(gate, theta=1.0), 120, rate=0.01)
    assert counts[0] > 28
    assert 20 < min(counts) <= counts[-1] <= 24.5, counts


@pytest.mark.parametrize("kind", SPARSITIES.names())
def test_without_a_target_it_would_collapse(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap that the test above guards against, put back."""
    monkeypatch.setattr(SparsityLoss, "forward", lambda self, state, gate, active: self.pressure(state, gate))
    counts = pressed(SPARSITIES.get(kind)(VOCAB, 24.0), gate_of("drelu_log1p", theta=1.0), 120, rate=0.05)
    assert counts[-1] < 3, counts


@pytest.mark.parametrize("kind", SPARSITIES.names())
def test_one_number_a_row_that_does_not_depend_on_the_other_rows(kind: str) -> None:
    gate, loss = gate_of(), SPARSITIES.get(kind)(VOCAB, 2.0)
    rows: list[dict[int, float]] = [{0: 3.0, 1: 2.0}, {2: 5.0, 3: 0.2, 4: 1.5}, {}]
    whole = loss.pressure(state(gate, *rows), gate)
    assert whole.shape == (3,) and whole[2] == 0
    for number, row in enumerate(rows):
        torch.testing.assert_close(loss.pressure(state(gate, row), gate)[0], whole[number])


@pytest.mark.parametrize("kind", SPARSITIES.names())
def test_an_empty_row_harms_nothing(kind: str) -> None:
    gate = gate_of("drelu_log1p")
    here = state(gate, {}, {1: 0.5})  # nothing, and nothing active
    SPARSITIES.get(kind)(VOCAB, 2.0)(here, gate, torch.tensor(5.0)).sum().backward()
    assert gate.raw.grad is None or gate.raw.grad.isfinite().all()


@pytest.mark.parametrize("gate", GATES.names())
@pytest.mark.parametrize("kind", SPARSITIES.names())
def test_a_crowded_row_is_pressed_on_beyond_its_most_active_whatever_the_average(kind: str, gate: str) -> None:
    opened, target = gate_of(gate), 2.0
    most = round(CROWDED * target)
    crowded = {token: 100.0 + token for token in range(VOCAB)}  # far above θ, where the count has no gradient
    here = state(opened, crowded, dict(list(crowded.items())[:most]))
    loss = SPARSITIES.get(kind)(VOCAB, target)(here, opened, torch.tensor(0.0))
    weakest = here.rows.value[: VOCAB - most].sum() / (opened.unit * target)
    torch.testing.assert_close(loss, torch.stack([weakest, torch.zeros(())]))
    loss.sum().backward()
    grad = here.scores.grad
    assert grad is not None
    assert (grad[: VOCAB - most] > 0).all() and (grad[VOCAB - most :] == 0).all()


@pytest.mark.parametrize("gate", GATES.names())
def test_l1_l0_is_the_sum_of_values_and_a_tenth_of_the_count(gate: str) -> None:
    opened = gate_of(gate)
    here = state(opened, {0: 3.0, 1: 5.0, 2: 0.5})
    found = SPARSITIES.get("l1_l0")(VOCAB, 2.0).pressure(here, opened)
    value: Tensor = here.rows.value.sum() / opened.unit
    torch.testing.assert_close(found[0], (value + 0.1 * expected_active(here, opened)[0]) / 2)


class TestDocumentFrequency:
    def test_does_not_depend_on_the_size_of_values(self) -> None:
        loss = DocumentFrequencyFlops(VOCAB, 4.0)
        for factor in (0.01, 1.0, 50.0):
            rows = sparse_rows(dict.fromkeys(range(9), factor), vocab_size=VOCAB)
            here = CircuitState(torch.empty(0), rows, rows.value, None)  # type: ignore[arg-type]
            # √9/√4, by a weight of 1: nothing is known of the frequencies
            torch.testing.assert_close(loss.pressure(here, gate_of()), torch.tensor([1.5]), atol=1e-3, rtol=0)

    def test_common_tokens_weigh_twice_as_much_as_rare_ones(self) -> None:
        loss = DocumentFrequencyFlops(VOCAB, 4.0)
        loss.frequency[:5] = torch.tensor([0.0, 0.01, COMMON, 0.5, 1.0])
        assert loss.weights()[:5].tolist() == pytest.approx([1.0, 1.0, 1.5, 2.0, 2.0], abs=0.01)
        assert loss.weights().diff()[:4].min() >= 0

    def test_frequencies_fade(self) -> None:
        gate, loss = gate_of(), DocumentFrequencyFlops(VOCAB, 4.0)
        counts = token_counts(state(gate, {0: 3.0, 1: 0.9}, {0: 3.0}, {}), gate)  # token 1 only comes near
        loss.update(counts, rows=3)
        new = (1 - FREQUENCY_DECAY) * 2 / 3
        assert loss.frequency[:2].tolist() == pytest.approx([new, 0.0])
        loss.update(torch.zeros(2, VOCAB), rows=3)
        assert loss.frequency[0].item() == pytest.approx(FREQUENCY_DECAY * new)
