"""The figures of an evaluation, against what they are defined to be."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.circuits.core import CircuitState
from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.evaluation.class_scores import ClassScoreMeasure
from splade.evaluation.completeness import Completeness
from splade.evaluation.frozen_share import FrozenShare
from splade.evaluation.heaviest_words import HeaviestWords
from splade.evaluation.identity import Identity
from splade.evaluation.input_share import InputShare
from splade.evaluation.lexicon import Lexicon
from splade.evaluation.measure import References
from splade.evaluation.mechanistic import Evaluation, all_logits, dla_errors, evaluate
from splade.evaluation.registers import Registers
from splade.evaluation.self_activation import SelfActivation
from splade.evaluation.separation import Separation
from splade.evaluation.sparsity import Sparsity
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.backbone import Backbone
from splade.models.heads import LinearRegion
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model, encode, sparse_rows, toy_reviews

CONFIG = EvaluationConfig(batch_size=8, completeness_shares=[0.1, 1.0])


@pytest.fixture
def model(tmp_path: Path) -> LexicalSAE:
    return build_model(tmp_path)


def task(model: LexicalSAE, texts: list[str], labels: list[int]) -> ClassificationTask:
    return ClassificationTask(TextSplit(texts, labels), model.tokenizer, model.max_length)


class TestIdentity:
    def test_the_error_of_a_state_made_by_hand(self) -> None:
        """W_eff = upstream · wordsᵀ: token 0 adds 2·3 to class 0 and 2·1 to class 1; one logit is off by 0.5."""
        rows = sparse_rows({0: 2.0}, {1: 1.0}, vocab_size=2)
        upstream = torch.tensor([[[3.0], [1.0]], [[1.0], [0.0]]])  # (R, C, H)
        region = LinearRegion(upstream, torch.tensor([[1.0], [4.0]]), torch.tensor([[0.25, 0.0], [0.0, 1.0]]))
        logits = torch.tensor([[6.25, 2.0], [4.5, 1.0]])
        errors = dla_errors(CircuitState(logits, rows, rows.value, region))
        assert torch.allclose(errors, torch.tensor([[0.0, 0.0], [0.5, 0.0]]))

    def test_holds_for_every_input_and_class(self, model: LexicalSAE) -> None:
        with torch.no_grad():
            state = model.classify(model(*encode(model, [*toy_reviews(16)[0], ""])))
        errors = dla_errors(state)
        assert errors.shape == (17, 2) and float(errors.max()) <= 1e-5

    def test_and_with_a_bfloat16_backbone(self, tmp_path: Path) -> None:
        model = build_model(tmp_path, "full", dtype="bfloat16")
        with torch.no_grad():
            state = model.classify(model(*encode(model, toy_reviews(16)[0])))
        assert len(state.rows) > 0 and float(dla_errors(state).max()) <= 1e-4

    @pytest.mark.parametrize(("part", "off"), [("decide", [0.25, 0.0]), ("classify", [0.0, 0.25])])
    def test_an_evaluation_would_show_a_broken_one(
        self, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch, part: str, off: list[float]
    ) -> None:
        """Also where only what the forward pass returned is wrong, and deciding anew from its rows would be right."""
        right = getattr(model, part)

        def wrong(*arguments: object) -> CircuitState:
            state = right(*arguments)
            return dataclasses.replace(state, logits=state.logits + torch.tensor(off))

        monkeypatch.setattr(model, part, wrong)
        found = evaluate(model, task(model, *toy_reviews(10)), CONFIG, share=0.1)
        assert found[Identity].max_error == pytest.approx(0.25, abs=1e-4)
        assert found[Identity].mean_error == pytest.approx(0.125, abs=1e-4)


class TestEvaluate:
    def test_against_the_definitions(self, model: LexicalSAE) -> None:
        texts, labels = toy_reviews(30)
        found = evaluate(model, task(model, texts, labels), CONFIG, share=0.1)
        with torch.no_grad():
            state = model.classify(model(*encode(model, texts)))
        right = state.logits.argmax(-1) == torch.tensor(labels)
        active = (state.sparse_vector > 0).sum(1).double()
        assert found[ClassScoreMeasure].accuracy == pytest.approx(float(right.double().mean()))
        assert found.rows == found.to_json()["evaluated"] == 30
        assert found[Identity].max_error <= 1e-5
        tokens, kept = found[Sparsity].active_tokens, found[Completeness].rows.shares
        assert tokens.mean == pytest.approx(float(active.mean()))
        assert (tokens.p50, tokens.max) == (float(active.quantile(0.5)), int(active.max()))
        assert sum(tokens.histogram["counts"]) == 30
        assert found[Sparsity].sparsity == pytest.approx(1 - float(active.mean()) / model.vocab_size)
        assert found[Sparsity].subsets == found[Completeness].subsets == {}
        assert kept[1.0].accuracy == pytest.approx(found[ClassScoreMeasure].accuracy)
        assert kept[1.0].kl == pytest.approx(0.0, abs=1e-6)
        assert kept[0.1].kl > 0
        assert 0 < found[InputShare].input_share < 1
        assert FrozenShare not in found.results
        assert Lexicon not in found.results and "lexicon" not in found.to_json()["grounding"]

    def test_who_carries_most_is_measured_without_a_lexicon(self, model: LexicalSAE) -> None:
        texts, labels = toy_reviews(30)
        found = evaluate(model, task(model, texts, labels), CONFIG, share=0.1)
        heaviest, word = found[Registers].heaviest, found[HeaviestWords].heaviest_word
        with torch.no_grad():
            state = model.classify(model(*encode(model, texts)))
            sizes = compute_attribution_tensor(state, state.logits.argmax(-1)).to_dense().abs().sum(0)  # (V,)
        assert heaviest is not None and heaviest.token == model.vocabulary.names[int(sizes.argmax())]
        assert heaviest.share == pytest.approx(float(sizes.max() / sizes.sum()), abs=1e-5)
        assert heaviest.rows == sum(of.rows for of in heaviest.by_class.values()) == 30
        assert word is not None and any(word.word in text for text in texts)

    def test_a_label_that_is_never_given_is_a_finding(self, model: LexicalSAE) -> None:
        texts, _ = toy_reviews(60)
        unlabelled = task(model, texts, [0] * 60)
        given = unlabelled.decide_classes(all_logits(model, unlabelled, 8))
        majority, minority = (model.labels[number] for number in (given[0], 1 - given[0]))
        same = [text for text, number in zip(texts, given, strict=True) if number == given[0]]
        labels = [int(given[0])] * (len(same) - 4) + [int(1 - given[0])] * 4
        found = evaluate(model, task(model, same, labels), CONFIG, share=0.1)
        scores = found[ClassScoreMeasure]
        assert scores.per_class[minority].recall == 0.0 and scores.per_class[minority].predicted == 0
        assert f"no more than the {100 * scores.accuracy:.1f} % of always answering '{majority}'" in found.findings[0]
        assert found.findings[1].startswith(f"Never given to any text: the label '{minority}' (4 test texts)")

    def test_circuits_are_of_the_share_asked_for(self, model: LexicalSAE) -> None:
        texts = task(model, *toy_reviews(20))
        small, whole = (evaluate(model, texts, CONFIG, share=share)[Separation] for share in (0.1, 1.0))
        assert small.overlap == whole.overlap == pytest.approx(whole.size_cosine)
        assert small.size_cosine != pytest.approx(whole.size_cosine, abs=1e-3)

    def test_does_not_depend_on_the_batches(self, model: LexicalSAE) -> None:
        texts = task(model, *toy_reviews(20))
        one, many = (
            evaluate(model, texts, dataclasses.replace(CONFIG, batch_size=size), share=0.1) for size in (20, 3)
        )
        assert one[Separation].cosine == pytest.approx(many[Separation].cosine, abs=1e-5)
        assert one[Separation].within_cosine == pytest.approx(many[Separation].within_cosine, abs=1e-5)
        assert one[InputShare].input_share == pytest.approx(many[InputShare].input_share, abs=1e-5)
        kept = [found[Completeness].rows.shares[0.1] for found in (one, many)]
        assert kept[0].kl == pytest.approx(kept[1].kl, abs=1e-5)
        assert one[Sparsity] == many[Sparsity]

    def test_with_everything(self, model: LexicalSAE, tmp_path: Path) -> None:
        (tmp_path / "ratings").write_text("good\t2\ncharming\t3\nawful\t-3\ndull\t-2\n")
        model.labels = ["negative", "positive"]
        frozen, _ = Backbone.from_name(str(tmp_path / "bert"))
        told: dict[str, list[int]] = defaultdict(list)
        found = evaluate(
            model,
            task(model, *toy_reviews(20)),
            dataclasses.replace(CONFIG, lexicon=str(tmp_path / "ratings"), max_samples=12),
            share=0.1,
            references=References(lambda: frozen),
            progress=lambda title, total: nullcontext(told[title].append),
        )
        written = found.to_json()
        assert (written["evaluated"], written["grounding"]["texts"], sum(told["evaluating"])) == (12, 12, 20)
        assert 0 < found[Lexicon].lexicon.coverage < 1
        share = found[FrozenShare].frozen_share
        assert share is not None and 0 < share <= 1

    def test_accuracy_is_of_all_texts_and_the_rest_of_the_same_few_for_every_seed(self, model: LexicalSAE) -> None:
        texts = task(model, *toy_reviews(40))
        few = dataclasses.replace(CONFIG, max_samples=5)
        whole = evaluate(model, texts, CONFIG, share=0.1)
        first, second = (evaluate(model, texts, few, share=0.1, seed=seed) for seed in (1, 2))
        assert first[ClassScoreMeasure] == second[ClassScoreMeasure] == whole[ClassScoreMeasure]
        assert first.rows == 5 and first[Sparsity] == second[Sparsity] != whole[Sparsity]
        assert first.to_json()["grounding"] == second.to_json()["grounding"] != whole.to_json()["grounding"]

    def test_random_tokens_follow_the_seed(self, model: LexicalSAE) -> None:
        texts = task(model, *toy_reviews(60))
        config = dataclasses.replace(CONFIG, completeness_shares=[0.1, 0.2, 0.3, 0.5])
        first, again, other = (evaluate(model, texts, config, share=0.1, seed=seed) for seed in (1, 1, 2))
        assert first.results == again.results and first.to_json() == again.to_json()
        for kept in ("shares", "tokens"):
            mine, theirs = (self.random_accuracies(found, kept) for found in (first, other))
            assert mine != theirs

    def random_accuracies(self, found: Evaluation, kept: str) -> list[float]:
        return [at.random_accuracy for at in getattr(found[Completeness].rows, kept).values()]

    def test_of_texts_with_nothing_to_say(self, model: LexicalSAE) -> None:
        found = evaluate(model, task(model, ["", "the of"], [0, 1]), CONFIG, share=0.1)
        assert found[Sparsity].active_tokens.mean == 0.0 and found[Sparsity].sparsity == 1.0
        assert found[ClassScoreMeasure].accuracy == 0.5
        assert found[InputShare].input_share == found[SelfActivation].self_activation == 0.0
        assert found[Registers].heaviest is None and found[HeaviestWords].heaviest_word is None
        assert found[HeaviestWords].artefacts == []

    def test_a_lexicon_needs_a_positive_class(self, model: LexicalSAE) -> None:
        with pytest.raises(ConfigError, match="none of the labels class 0, class 1 is called positive"):
            evaluate(
                model,
                task(model, *toy_reviews(4)),
                dataclasses.replace(CONFIG, lexicon="vader"),
                share=0.1,
            )


def test_predictions_come_in_the_order_of_the_rows(model: LexicalSAE) -> None:
    texts, labels = toy_reviews(20)
    texts[3] = "good " * 30  # batches go by length, the longest first
    reviews = task(model, texts, labels)
    classes = reviews.decide_classes(all_logits(model, reviews, 4))
    with torch.no_grad():
        expected = [int(model.classify(model(*encode(model, [text]))).logits.argmax()) for text in texts]
    assert classes.tolist() == expected and np.array_equal(reviews.labels, labels)
