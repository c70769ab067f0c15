"""Completeness and separation on circuits made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.circuits.core import CircuitState
from splade.circuits.metrics import CompletenessMeter, SeparationMeter
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.heads import HeadParts, MLPSettings, ReluMLP
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from tests.builders import build_model, encode, sparse_rows, toy_reviews


class HandMade:
    """Stands for a model: a head of one unit a class, in which token j adds `words[j, c]` to the logit of class c."""

    def __init__(self, words: list[list[float]]):
        self.head = ReluMLP(
            HeadParts(torch.zeros(len(words), 1), len(words[0]), len(words[0])), MLPSettings(hidden_bias=True)
        )
        with torch.no_grad():
            self.head.words.copy_(torch.tensor(words))
            self.head.bias.fill_(100.0)  # every unit open
            self.head.out.weight.copy_(torch.eye(len(words[0])))
            self.head.out.bias.fill_(-100.0)

    def decide(self, rows: SparseRows) -> CircuitState:
        with torch.no_grad():
            logits, region = self.head(rows)
        return CircuitState(logits, rows, rows.value, region)


def state_of(rows: SparseRows) -> CircuitState:
    return CircuitState(torch.zeros(rows.num_rows, 2), rows, rows.value, None)  # type: ignore[arg-type]


class TestCompleteness:
    def measure(self, model: HandMade | LexicalSAE, state: CircuitState, labels: list[int], *shares: float):  # type: ignore[no-untyped-def]
        meter = CompletenessMeter(model, list(shares))  # type: ignore[arg-type]
        attribution = compute_attribution_tensor(state, state.logits.argmax(-1))
        meter.add(state, attribution, torch.tensor(labels))
        return meter.result()

    def test_all_tokens_are_the_whole_model(self, tmp_path: Path) -> None:
        model = build_model(tmp_path)
        texts, labels = toy_reviews(24)
        with torch.no_grad():
            state = model.classify(model(*encode(model, texts)))
            found = self.measure(model, state, labels, 1.0)[1.0]
        accuracy = float((state.logits.argmax(-1) == torch.tensor(labels)).float().mean())
        assert found.accuracy == found.random_accuracy == pytest.approx(accuracy)
        assert found.kl == pytest.approx(0.0, abs=1e-6)

    def test_the_strongest_token_decides_where_one_is_kept(self) -> None:
        """Token 0 says class 1 strongly, tokens 1 to 3 weakly class 0: alone, the strongest still decides."""
        model = HandMade([[0.0, 4.0], [1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
        state = model.decide(sparse_rows({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, vocab_size=4))
        found = self.measure(model, state, [1], 0.25, 1.0)
        assert found[0.25].accuracy == found[1.0].accuracy == 1.0
        # Centred logits: the full difference is 4 − 2.5 = 1.5, the circuit's is 4.
        full, kept = torch.tensor([-0.75, 0.75]).log_softmax(-1), torch.tensor([-2.0, 2.0]).log_softmax(-1)
        assert found[0.25].kl == pytest.approx(float((full.exp() * (full - kept)).sum()), abs=1e-5)

    def test_a_number_of_tokens_is_kept_however_many_are_active(self) -> None:
        model = HandMade([[0.0, 4.0], [1.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
        rows = sparse_rows({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, {1: 1.0}, vocab_size=4)
        state = model.decide(rows)
        found = self.measure(model, state, [1, 0], 1, 2, 10)
        assert [found[size].accuracy for size in (1, 2, 10)] == [1.0, 1.0, 0.5]
        assert found[10].kl == pytest.approx(0.0, abs=1e-6) and found[1].kl > 0.1

    def test_random_tokens_are_as_many_and_worse(self) -> None:
        """One token of four decides rightly; drawn at random it is kept in a quarter of the texts."""
        model = HandMade([[0.0, 4.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        state = model.decide(sparse_rows(*[{0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}] * 400, vocab_size=4))
        found = self.measure(model, state, [1] * 400, 0.25)[0.25]
        assert found.accuracy == 1.0
        assert found.random_accuracy == pytest.approx(0.25, abs=0.07)

    def test_batches_are_averaged_by_their_rows(self) -> None:
        model = HandMade([[0.0, 1.0], [1.0, 0.0]])
        meter = CompletenessMeter(model, [1.0])  # type: ignore[arg-type]
        for rows, labels in (([{0: 1.0}] * 3, [1, 1, 1]), ([{0: 1.0}], [0])):
            state = model.decide(sparse_rows(*rows, vocab_size=2))
            meter.add(state, compute_attribution_tensor(state, state.logits.argmax(-1)), torch.tensor(labels))
        assert meter.result()[1.0].accuracy == 0.75

    def test_a_text_with_nothing_active_counts(self) -> None:
        model = HandMade([[0.0, 1.0], [1.0, 0.0]])
        state = model.decide(sparse_rows({0: 1.0}, {}, vocab_size=2))
        found = self.measure(model, state, [1, 0], 0.1)[0.1]
        assert found.accuracy == 1.0 and found.kl == pytest.approx(0.0, abs=1e-6)


class TestSeparation:
    def measure(self, *rows: dict[int, float], classes: list[int], share: float = 1.0):  # type: ignore[no-untyped-def]
        meter = SeparationMeter(max(classes) + 1, 10, share)
        attribution = sparse_rows(*rows)
        active = attribution.with_value(torch.ones_like(attribution.value))
        meter.add(state_of(active), attribution, torch.tensor(classes))
        return meter.result()

    def test_classes_without_a_common_token_are_apart(self) -> None:
        found = self.measure({0: 2.0, 1: 1.0}, {0: 4.0, 1: 2.0}, {5: 1.0}, {5: 3.0}, classes=[0, 0, 1, 1])
        assert (found.cosine, found.jaccard) == (0.0, 0.0)
        assert found.within_cosine == pytest.approx(1.0) and found.within_jaccard == 1.0

    def test_the_same_circuit_for_both_classes_is_seen(self) -> None:
        found = self.measure({0: 2.0, 1: 1.0}, {0: 4.0, 1: 2.0}, classes=[0, 1])
        assert found.cosine == pytest.approx(1.0) and found.jaccard == 1.0

    def test_opposite_signs_are_opposite(self) -> None:
        assert self.measure({3: 2.0}, {3: -1.0}, classes=[0, 1]).cosine == pytest.approx(-1.0)

    def test_sizes_do_not_mind_the_sign(self) -> None:
        """Two classes, a centred head: every word speaks for one class and as much against the other."""
        found = self.measure({3: 2.0, 4: 1.0}, {3: -2.0, 4: -1.0}, classes=[0, 1])
        assert found.cosine == pytest.approx(-1.0)
        assert found.size_cosine == pytest.approx(1.0) and found.jaccard == 1.0
        found = self.measure({0: 3.0, 1: -4.0}, {0: 3.0, 1: 4.0}, {2: 1.0}, classes=[0, 0, 1])
        assert found.size_cosine == 0.0 and found.within_size_cosine == pytest.approx(1.0, abs=1e-6)
        assert found.within_cosine == pytest.approx((9 - 16) / 25, abs=1e-6)

    def test_cosine_and_jaccard_by_hand(self) -> None:
        found = self.measure({0: 3.0, 1: 4.0}, {1: 1.0, 2: 1.0}, classes=[0, 1])
        assert found.cosine == pytest.approx(0.8 / 2**0.5)
        assert found.jaccard == pytest.approx(1 / 3)

    def test_within_is_the_mean_over_pairs_of_one_class(self) -> None:
        """Three texts of one class: two alike, one orthogonal to them, so one pair of three has cosine 1."""
        found = self.measure({0: 1.0}, {0: 5.0}, {1: 2.0}, classes=[0, 0, 0])
        assert found.within_cosine == pytest.approx(1 / 3, abs=1e-6)
        assert found.within_jaccard == pytest.approx(1 / 3, abs=0.05)  # sampled pairs

    def test_only_the_share_of_active_tokens_is_the_circuit(self) -> None:
        rows = ({0: 5.0, 1: 1.0}, {0: 5.0, 2: 1.0})
        assert self.measure(*rows, classes=[0, 0], share=0.5).within_jaccard == 1.0
        assert self.measure(*rows, classes=[0, 0], share=1.0).within_jaccard == pytest.approx(1 / 3)
        assert self.measure(*rows, classes=[0, 1], share=0.5).cosine == pytest.approx(1.0)
        assert self.measure(*rows, classes=[0, 1], share=1.0).cosine == pytest.approx(25 / 26)

    def test_the_share_is_of_the_active_tokens_not_of_all_entries(self) -> None:
        """Tokens 3 to 6 only come near their threshold: half of the active two is one, which both texts have."""
        meter, near = SeparationMeter(1, 10, 0.5), dict.fromkeys(range(3, 7), 0.0)
        attribution = sparse_rows({0: 5.0, 1: 1.0, **near}, {0: 5.0, 2: 1.0, **near})
        meter.add(state_of(attribution), attribution, torch.tensor([0, 0]))
        assert meter.result().within_jaccard == 1.0

    def test_texts_that_say_nothing_and_single_texts_do_not_count(self) -> None:
        for silent in ({}, {5: 0.0, 6: 0.0}):  # nothing active, or every unit of the head shut
            found = self.measure(silent, {0: 1.0}, {1: 1.0}, classes=[0, 0, 1])
            assert (found.cosine, found.overlap, found.jaccard) == (0.0, 0.0, 0.0)
            assert (found.within_cosine, found.within_overlap, found.within_jaccard) == (None, None, None)

    def test_one_class_is_not_apart_from_anything(self) -> None:
        """A model that says the same of every text must not look perfectly separated."""
        found = self.measure({0: 1.0}, {1: 1.0}, classes=[0, 0])
        assert (found.cosine, found.size_cosine, found.overlap, found.jaccard) == (None, None, None, None)
        assert found.within_cosine == 0.0
        assert self.measure({}, classes=[0]).cosine is None

    def test_overlap_is_of_all_active_tokens_whatever_the_circuit(self) -> None:
        rows = ({0: 3.0, 1: 4.0}, {2: 2.0, 1: -1.5})
        small, whole = (self.measure(*rows, classes=[0, 1], share=share) for share in (0.5, 1.0))
        assert small.size_cosine == 0.0
        assert small.overlap == whole.overlap == whole.size_cosine == pytest.approx(0.8 * 0.6)
