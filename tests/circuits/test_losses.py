"""The circuit losses: what they are zero for, where their gradients go, and what they remember."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.circuits.core import CircuitState, circuit_mask
from splade.circuits.losses import (
    CENTROID_DECAY,
    FREQUENCY_DECAY,
    SEPARATIONS,
    UNDER_ACTIVE,
    CentroidCosine,
    FrequencyPenalty,
    SeparationLoss,
    completeness_loss,
    expected_active,
    labelled_completeness,
    sharpness_loss,
    token_counts,
)
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.heads import HeadParts, MLPSettings, ReluMLP
from splade.models.layers.activation import JumpReLUGate
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from tests.builders import build_model, sparse_rows

VOCAB = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def model(folder: Path) -> LexicalSAE:
    return build_model(folder, classes=3)


class TestCompleteness:
    def decide(self, model: LexicalSAE, *rows: dict[int, float]) -> tuple[CircuitState, SparseRows]:
        state = model.decide(sparse_rows(*rows, vocab_size=model.vocab_size))
        return state, compute_attribution_tensor(state, state.logits.argmax(1))

    def test_is_zero_when_one_token_decides_everything_and_is_kept(self, model: LexicalSAE) -> None:
        with torch.no_grad():
            model.head.words[:20] *= torch.eye(20)[:, 7:8]  # all but token 7 say nothing
        state, attribution = self.decide(model, dict.fromkeys(range(20), 1.0))
        loss = completeness_loss(model, state, attribution, share=0.1)
        assert loss.shape == (1,)
        assert loss.item() == pytest.approx(0.0, abs=1e-6)

    def test_is_large_when_the_circuit_leaves_out_what_matters(self, model: LexicalSAE) -> None:
        with torch.no_grad():
            model.head.words[:20] = 0.1 * model.head.words[0]  # all say the same, so a few of twenty say too little
        state, attribution = self.decide(model, {token: 1 + token / 19 for token in range(20)})
        assert completeness_loss(model, state, attribution, share=0.1).item() > 0.1

    def test_is_the_divergence_from_the_full_to_the_circuit_prediction(self, model: LexicalSAE) -> None:
        state, attribution = self.decide(model, {t: 1.0 + t / 7 for t in range(12)}, {3: 2.0, 8: 0.7, 9: 1.1}, {})
        loss = completeness_loss(model, state, attribution, share=0.25)
        mask = circuit_mask(attribution, state.rows.value > 0, 0.25, soft=True)
        p = model.decide(state.rows).logits.softmax(1)
        q = model.decide(state.rows.with_value(state.rows.value * mask)).logits.softmax(1)
        torch.testing.assert_close(loss, (p * (p / q).log()).sum(1), rtol=1e-4, atol=1e-6)
        assert not torch.allclose(loss[:2], (q * (q / p).log()).sum(1)[:2], rtol=1e-2)  # the other direction differs
        assert loss[2] == 0  # an empty row is its own circuit

    def test_entries_near_their_threshold_are_no_part_of_a_circuit(self, model: LexicalSAE) -> None:
        """A fifth of 6 active tokens are 2; a fifth of the 30 entries would be all 6 of them."""
        active = {t: 1.0 + t / 7 for t in range(6)}
        labels = torch.tensor([1])
        for loss in (completeness_loss, labelled_completeness):
            alone, beside = (
                loss(model, *self.decide(model, row), 0.2, labels)
                for row in (active, active | dict.fromkeys(range(6, 30), 0.0))
            )
            torch.testing.assert_close(beside, alone)

    def test_the_full_prediction_is_a_constant(self, model: LexicalSAE) -> None:
        state, attribution = self.decide(model, {t: 1.0 + t / 7 for t in range(12)})
        loss = completeness_loss(model, state, attribution, share=0.25).sum()
        assert torch.autograd.grad(loss, state.logits, retain_graph=True, allow_unused=True)[0] is None
        (gradient,) = torch.autograd.grad(loss, model.head.out.bias)  # of softmax cross-entropy: q − p, once centred
        mask = circuit_mask(attribution, state.rows.value > 0, 0.25, soft=True)
        q = model.decide(state.rows.with_value(state.rows.value * mask)).logits.softmax(1)[0]
        torch.testing.assert_close(gradient, (q - state.logits.softmax(1)[0]).detach(), rtol=1e-4, atol=1e-6)


class TestLabelledCompleteness:
    def test_is_the_cross_entropy_of_the_circuit_alone(self, model: LexicalSAE) -> None:
        rows = sparse_rows({t: 1.0 + t / 7 for t in range(12)}, {3: 2.0, 8: 0.7}, {}, vocab_size=model.vocab_size)
        state, labels = model.decide(rows), torch.tensor([2, 0, 1])
        attribution = compute_attribution_tensor(state, labels)
        mask = circuit_mask(attribution, rows.value > 0, 0.25, soft=True)
        logits = model.decide(rows.with_value(rows.value * mask)).logits
        expected = F.cross_entropy(logits, labels, reduction="none")
        torch.testing.assert_close(labelled_completeness(model, state, attribution, 0.25, labels), expected)
        assert not torch.allclose(expected[0], F.cross_entropy(state.logits[:1], labels[:1]), rtol=1e-2)


def with_centroids(*centroids: list[float] | None, kind: str = "triplet") -> SeparationLoss:
    loss = SEPARATIONS.get(kind)(len(centroids), VOCAB)
    for number, centroid in enumerate(centroids):
        if centroid is not None:
            loss.centroids[number, : len(centroid)] = torch.tensor(centroid)
            loss.seen[number] = True
    return loss  # type: ignore[return-value]


def learning(rows: SparseRows) -> tuple[SparseRows, Tensor]:
    value = rows.value.clone().requires_grad_()
    return rows.with_value(value), value


class TestSeparation:
    def test_is_the_triplet_with_the_hardest_negative(self) -> None:
        loss = with_centroids([1.0, 0.0], [0.0, 2.0], [1.0, 1.0])
        rows = sparse_rows({0: 3.0}, {0: 1.0, 1: 1.0})
        m = 0.5
        cos45 = math.sqrt(0.5)
        expected = [max(0.0, m - (1 - cos45)) + (1 - m) ** 2 / 2, max(0.0, m - (1 - cos45)) + (1 - m) ** 2 / 2]
        torch.testing.assert_close(loss(rows, torch.tensor([0, 2])), torch.tensor(expected))
        torch.testing.assert_close(loss.similarities(rows)[0], torch.tensor([1.0, 0.0, cos45]))

    def test_does_not_depend_on_the_size_of_attributions(self) -> None:
        loss, labels = with_centroids([1.0, 0.2], [0.3, 1.0]), torch.tensor([0])
        torch.testing.assert_close(
            loss(sparse_rows({0: 2.0, 1: 1.0}), labels), loss(sparse_rows({0: 20.0, 1: 10.0}), labels)
        )

    def test_the_gradient_reaches_the_batch_and_turns_it_to_its_own_class(self) -> None:
        """The known trap: with centroids on both sides the loss has a value but no gradient."""
        loss = with_centroids([1.0, 0.0], [0.0, 1.0])
        rows, value = learning(sparse_rows({0: 1.0, 1: 1.0}))
        loss(rows, torch.tensor([0])).sum().backward()
        assert value.grad[0] < 0 < value.grad[1]  # more of the own class's token, less of the other's
        assert not loss.centroids.requires_grad
        assert [name for name, _ in loss.named_parameters()] == ["raw_margin"]

    @pytest.mark.parametrize("inside", [1, 3, 6])
    def test_the_margin_settles_at_one_minus_the_share_of_rows_inside_it(self, inside: int) -> None:
        loss = with_centroids([1.0, 0.0], [0.0, 1.0])
        # gap −1 is inside any margin, gap 1 inside none
        rows = sparse_rows(*[{1: 1.0}] * inside, *[{0: 1.0}] * (10 - inside))
        optimizer = torch.optim.SGD(loss.parameters(), lr=2.0)
        for _ in range(300):
            optimizer.zero_grad()
            loss(rows, torch.zeros(10, dtype=torch.long)).mean().backward()
            optimizer.step()
        assert loss.margin.item() == pytest.approx(1 - inside / 10, abs=0.01)

    def test_rows_that_cannot_be_compared_cost_nothing_and_harm_nothing(self) -> None:
        cases = [
            (with_centroids([1.0], None), sparse_rows({0: 1.0}), 0),  # no other class yet
            (with_centroids(None, [1.0], [0.0, 1.0]), sparse_rows({0: 1.0}), 0),  # no own centroid yet
            (with_centroids(None, None), sparse_rows({0: 1.0}), 1),
            (with_centroids([1.0], [0.0, 1.0]), sparse_rows({}), 0),  # nothing active
            (with_centroids([1.0], [0.0, 1.0]), sparse_rows({0: 0.0}), 0),  # active, but without attribution
        ]
        for loss, rows, label in cases:
            rows, value = learning(rows)
            out = loss(rows, torch.tensor([label]))
            assert out.isfinite().all()
            out.sum().backward()
            assert value.grad.isfinite().all() and loss.raw_margin.grad.isfinite()
        for loss, rows, label in cases[:4]:
            assert loss(rows, torch.tensor([label])).item() == 0

    def test_an_unseen_class_is_no_negative(self) -> None:
        rows, labels = sparse_rows({0: 1.0, 1: 0.5}), torch.tensor([0])
        torch.testing.assert_close(
            with_centroids([1.0], [0.0, 1.0], None)(rows, labels), with_centroids([1.0], [0.0, 1.0])(rows, labels)
        )

    def test_centroids_are_moving_averages_of_normalised_sizes(self) -> None:
        loss = SeparationLoss(3, VOCAB)
        loss.update(*loss.class_sums(sparse_rows({0: 3.0, 1: 4.0}, {1: 7.0}), torch.tensor([0, 0])))
        first = torch.tensor([0.6, 0.8]) / 2 + torch.tensor([0.0, 1.0]) / 2
        torch.testing.assert_close(loss.centroids[0, :2], first)
        assert loss.seen.tolist() == [True, False, False]
        loss.update(*loss.class_sums(sparse_rows({0: -2.0}, {5: 1.0}), torch.tensor([0, 2])))
        moved = CENTROID_DECAY * first + (1 - CENTROID_DECAY) * torch.tensor([1.0, 0.0])
        torch.testing.assert_close(loss.centroids[0, :2], moved)
        torch.testing.assert_close(loss.centroids[2], F.one_hot(torch.tensor(5), VOCAB).float())
        assert loss.seen.tolist() == [True, False, True]

    def test_class_sums_of_parts_add_up(self) -> None:
        loss = SeparationLoss(2, VOCAB)
        labels = torch.tensor([0, 1, 0])
        whole = loss.class_sums(sparse_rows({0: 1.0, 2: 2.0}, {3: 1.0}, {2: 5.0}), labels)
        first = loss.class_sums(sparse_rows({0: 1.0, 2: 2.0}), labels[:1])
        second = loss.class_sums(sparse_rows({3: 1.0}, {2: 5.0}), labels[1:])
        for total, a, b in zip(whole, first, second, strict=True):
            torch.testing.assert_close(total, a + b)


@pytest.mark.parametrize("kind", SEPARATIONS.names())
class TestSeparationOfEitherKind:
    def test_carries_gradient_to_the_batch_and_none_to_the_centroids(self, kind: str) -> None:
        """The known trap: centroids without gradient on both sides train nothing."""
        loss = with_centroids([1.0, 0.5], [0.5, 1.0], kind=kind)
        rows, value = learning(sparse_rows({0: 1.0, 1: 0.9}, {0: 0.8, 1: 1.0}))
        before = loss(rows, torch.tensor([0, 1])).sum()
        before.backward()
        assert (value.grad.abs() > 0.01).all() and not loss.centroids.requires_grad
        moved = rows.with_value((value - 0.1 * value.grad).detach())
        assert loss(moved, torch.tensor([0, 1])).sum() < before  # and along it the circuits come apart

    def test_is_one_number_a_row_whatever_stands_beside_it(self, kind: str) -> None:
        loss = with_centroids([1.0, 0.5], [0.5, 1.0], [0.1, 0.2, 0.9], kind=kind)
        rows, labels = [{0: 1.0, 1: 0.9}, {2: 0.3, 1: -1.0}, {}], torch.tensor([0, 2, 1])
        whole = loss(sparse_rows(*rows), labels)
        assert whole.shape == (3,) and whole[2] == 0
        for number, row in enumerate(rows):
            torch.testing.assert_close(loss(sparse_rows(row), labels[number : number + 1])[0], whole[number])

    def test_two_classes_that_rest_on_the_same_words_are_not_apart(self, kind: str) -> None:
        """The known trap: a centred head gives a word opposite signs for two classes, and signed centroids -1."""
        loss = SEPARATIONS.get(kind)(2, VOCAB)
        rows, labels = sparse_rows({0: 1.0, 1: 2.0}, {0: -1.0, 1: -2.0}), torch.tensor([0, 1])
        loss.update(*loss.class_sums(rows, labels))
        torch.testing.assert_close(loss.similarities(rows), torch.ones(2, 2))
        assert loss(sparse_rows({2: -1.0, 3: -2.0}), labels[1:]) <= loss(rows, labels)[1]
        apart = SEPARATIONS.get(kind)(2, VOCAB)
        apart.update(*apart.class_sums(sparse_rows({0: 1.0}, {1: 1.0}), labels))
        assert (apart(sparse_rows({0: 1.0}, {1: 1.0}), labels) < loss(rows, labels)).all()


class TestCentroidCosine:
    def test_is_the_mean_cosine_of_the_moved_centroid_with_the_others(self) -> None:
        loss = with_centroids([1.0, 0.5], [0.5, 1.0], [0.0, 0.0, 2.0], None, kind="centroid_cosine")
        rows, label = sparse_rows({0: 3.0, 2: 4.0}), torch.tensor([0])
        moved = CENTROID_DECAY * loss.centroids[0]
        moved[[0, 2]] += (1 - CENTROID_DECAY) * torch.tensor([0.6, 0.8])
        expected = (
            F.cosine_similarity(moved, loss.centroids[1], 0) + F.cosine_similarity(moved, loss.centroids[2], 0)
        ) / 2
        torch.testing.assert_close(loss(rows, label)[0], expected)
        torch.testing.assert_close(loss(sparse_rows({0: -3.0, 2: 4.0}), label)[0], expected)  # sizes, whatever the sign

    def test_the_gradient_is_that_of_a_row_over_all_the_steps_it_stays_in_the_average(self) -> None:
        loss = with_centroids([1.0, 0.5], [0.5, 1.0], kind="centroid_cosine")
        rows, value = learning(sparse_rows({0: 1.0, 1: 0.9}))
        (gradient,) = torch.autograd.grad(loss(rows, torch.tensor([0])).sum(), value)
        unit = F.normalize(value, dim=0)
        moved = CENTROID_DECAY * loss.centroids[0, :2] + (1 - CENTROID_DECAY) * unit
        (once,) = torch.autograd.grad(F.cosine_similarity(moved, loss.centroids[1, :2], 0), value)
        torch.testing.assert_close(gradient, once / (1 - CENTROID_DECAY))

    def test_rows_that_cannot_be_compared_cost_nothing_and_harm_nothing(self) -> None:
        for centroids in (([1.0], None), (None, None)):
            rows, value = learning(sparse_rows({0: 1.0, 1: 0.0}, {3: 0.0}))
            out = with_centroids(*centroids, kind="centroid_cosine")(rows, torch.tensor([0, 0]))
            assert not out.any()
            out.sum().backward()
            assert value.grad.isfinite().all()

    def test_has_nothing_to_learn_itself(self) -> None:
        assert list(CentroidCosine(2, VOCAB).parameters()) == []


class TestSharpness:
    def sharpness(self, *rows: dict[int, float]) -> Tensor:
        attribution = sparse_rows(*rows)
        active = attribution.with_value((attribution.value != 0).float())
        return sharpness_loss(CircuitState(torch.empty(0), active, active.value, None), attribution)  # type: ignore[arg-type]

    def test_is_one_for_equal_attributions_and_zero_for_a_single_one(self) -> None:
        found = self.sharpness({0: 2.0, 1: -2.0, 2: 2.0}, {0: 5.0}, {0: 5.0, 1: 1e-5}, {})
        torch.testing.assert_close(found, torch.tensor([1.0, 0.0, 0.0, 0.0]), rtol=0, atol=1e-4)

    def test_is_one_minus_the_hoyer_measure(self) -> None:
        a = torch.tensor([3.0, 1.0, 0.5, 0.2])
        hoyer = (2 - a.sum() / a.norm()) / (2 - 1)
        torch.testing.assert_close(self.sharpness(dict(enumerate(a.tolist())))[0], 1 - hoyer)

    def test_entries_that_are_not_active_count_for_nothing(self) -> None:
        torch.testing.assert_close(self.sharpness({0: 3.0, 1: 1.0, 5: 0.0}), self.sharpness({0: 3.0, 1: 1.0}))


def gate_at(theta: float = 2.0, scale: float = 1.0) -> JumpReLUGate:
    gate = JumpReLUGate(VOCAB)
    gate.calibrate(theta, scale)
    return gate


def scored(gate: JumpReLUGate, *scores: dict[int, float]) -> tuple[CircuitState, Tensor]:
    """A state with the given scores z, and the scores to ask for gradients of."""
    rows = sparse_rows(*scores, vocab_size=VOCAB)
    z = rows.value.clone().requires_grad_()
    rows = rows.with_value(gate(z, rows.token))
    logits, region = ReluMLP(HeadParts(torch.zeros(VOCAB, 1), 4, 2), MLPSettings(hidden_bias=True))(rows)
    return CircuitState(logits, rows, z, region), z


class TestExpectedActive:
    def test_counts_the_active_tokens_of_each_row(self) -> None:
        gate = gate_at(2.0)
        state, _ = scored(gate, {0: 4.0, 1: 5.0, 2: 1.0, 3: 0.0}, {4: 9.0}, {})
        torch.testing.assert_close(expected_active(state, gate), torch.tensor([2.0, 1.0, 0.0]), rtol=0, atol=1e-3)

    def test_is_undecided_at_the_threshold_and_falls_with_higher_thresholds_and_lower_scores(self) -> None:
        gate = gate_at(2.0)
        state, z = scored(gate, {0: gate.theta[0].item()})
        expected = expected_active(state, gate).sum()
        assert expected.item() == pytest.approx(0.5, abs=1e-5)
        expected.backward()
        assert z.grad[0] > 0 and gate.raw.grad[0] < 0
        assert not gate.raw.grad[1:].any()


class TestFrequencyPenalty:
    def penalty(self) -> FrequencyPenalty:
        """Tokens 0 to 4 come near their threshold; token 0 never fires, the others do."""
        penalty = FrequencyPenalty(VOCAB, active_target=2.0)
        penalty.near[:5] = 0.5
        penalty.fired[1:5] = 0.5
        return penalty

    def test_is_how_far_an_under_active_token_stayed_below_its_threshold(self) -> None:
        gate = gate_at(2.0, scale=4.0)
        state, z = scored(gate, {0: 1.5, 1: 1.5}, {0: 3.0}, {1: 1.0})
        loss = self.penalty()(state, gate)
        torch.testing.assert_close(loss, torch.tensor([0.5 / 4, 0.0, 0.0]), rtol=1e-4, atol=1e-5)
        loss.sum().backward()
        assert z.grad.tolist() == pytest.approx([-0.25, 0, 0, 0])  # pulls the score up
        assert gate.raw.grad[0] > 0 and not gate.raw.grad[1:].any()  # and the threshold down

    def test_under_active_is_a_tenth_of_the_average_frequency(self) -> None:
        gate, penalty = gate_at(), self.penalty()
        state, _ = scored(gate, {0: 1.5})
        average = 2.0 / 5  # two active tokens a row, shared by the five that ever come near
        penalty.fired[0] = 1.01 * UNDER_ACTIVE * average
        assert penalty(state, gate).item() == 0
        penalty.fired[0] = 0.99 * UNDER_ACTIVE * average
        assert penalty(state, gate).item() > 0

    def test_frequencies_are_moving_averages_over_rows(self) -> None:
        gate, penalty = gate_at(2.0), FrequencyPenalty(VOCAB, active_target=2.0)
        state, _ = scored(gate, {0: 1.5, 1: 3.0}, {1: 3.0}, {1: 1.9}, {})
        penalty.update(token_counts(state, gate), rows=4)
        new = 1 - FREQUENCY_DECAY
        torch.testing.assert_close(penalty.fired[:3], new * torch.tensor([0, 0.5, 0]))
        torch.testing.assert_close(penalty.near[:3], new * torch.tensor([0.25, 0.75, 0]))
        penalty.update(torch.zeros(2, VOCAB), rows=4)
        torch.testing.assert_close(penalty.fired[1].item(), FREQUENCY_DECAY * new * 0.5)
