"""Our own explainer says what the model's explanations say, and adds up to the logit."""

from __future__ import annotations

import numpy as np
import pytest

from splade import explain
from splade.explainers import DLA, ExplainerParts, Subject, WordText
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, toy_reviews


@pytest.fixture(scope="module", params=["max", "attention"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), pooling=request.param)


def subject(model: LexicalSAE) -> Subject:
    return Subject(model, model.tokenizer, model.max_length, batch_size=4)


def test_the_words_are_those_of_the_explanations(model: LexicalSAE) -> None:
    texts = [*toy_reviews(6)[0], ""]
    explanations = explain(model, texts)
    classes = [model.labels.index(one.label) for one in explanations]
    of_model = subject(model)
    scores = DLA(ExplainerParts()).explain(of_model, [WordText.of(text) for text in texts], classes)
    assert of_model.passes == len(texts)
    for one, found in zip(explanations, scores, strict=True):
        words = [word.score for word in one.words if word.end > word.start]
        assert found.scores == pytest.approx(np.array(words), abs=1e-5)
        assert found.total == pytest.approx(one.logits[one.target], abs=1e-4)


def test_equal_texts_are_read_once_and_in_their_order(model: LexicalSAE) -> None:
    of_model = subject(model)
    logits = of_model.logits(["good film", "a very long and dull film", "good film"])
    assert of_model.passes == 2 and logits[0].tolist() == logits[2].tolist() != logits[1].tolist()


def test_other_embeddings_take_the_place_of_the_words(model: LexicalSAE) -> None:
    of_model = subject(model)
    [batch] = of_model.read([WordText.of("good film")])
    own = of_model.embeddings(batch.input_ids)
    again = of_model.logits_of_embeddings(own, batch.input_ids, batch.attention_mask)
    assert again[0].tolist() == pytest.approx(of_model.logits(["good film"])[0].tolist(), abs=1e-5)
    moved = own.clone().requires_grad_()
    of_model.logits_of_embeddings(moved, batch.input_ids, batch.attention_mask)[0, 0].backward()
    assert moved.grad is not None
