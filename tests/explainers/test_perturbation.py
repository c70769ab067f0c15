"""LIME and occlusion find what a sum of words is made of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from splade.explainers import DLA, EXPLAINERS, ExplainerParts, Lime, Occlusion, WordText
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, encode, toy_reviews
from tests.explainers.builders import BagOfWords

WEIGHTS = {"good": 2.0, "bad": -3.0, "film": 0.5}
TEXT = WordText.of_words(["a", "good", "film", "not", "bad"])
TRUE = [0.0, 2.0, 0.5, 0.0, -3.0]


def test_lime_finds_the_coefficients_of_a_bag_of_words() -> None:
    subject = BagOfWords(WEIGHTS, bias=1.5)
    [found] = Lime(ExplainerParts(lime_samples=5000)).explain(subject, [TEXT], [1])
    assert found.scores == pytest.approx(np.array(TRUE), abs=0.02)  # its ridge shrinks them a little
    assert found.base == pytest.approx(1.5, abs=0.05) and found.total == pytest.approx(1.0, abs=0.05)
    assert subject.passes == 31 or subject.passes == 32  # of 500 texts as many are read as there are choices of words


def test_lime_explains_the_class_it_is_asked_for() -> None:
    [found] = Lime(ExplainerParts(lime_samples=5000)).explain(BagOfWords(WEIGHTS), [TEXT], [0])
    assert found.scores == pytest.approx(-np.array(TRUE), abs=0.05)


def test_a_word_that_occurs_twice_is_two_words() -> None:
    text = WordText.of("good\xa0film,good")  # apart by more than spaces
    [found] = Lime(ExplainerParts(lime_samples=300)).explain(BagOfWords(WEIGHTS), [text], [1])
    assert len(found.scores) == 4 and text.words == ["good", "film", ",", "good"]


@pytest.mark.parametrize("name", ["lime", "occlusion"])
def test_a_text_without_words_has_no_scores(name: str) -> None:
    [found] = EXPLAINERS.get(name)(ExplainerParts(lime_samples=50)).explain(BagOfWords(WEIGHTS), [WordText.of("")], [1])
    assert found.scores.shape == (0,)


def test_the_same_seed_draws_the_same_texts() -> None:
    def scores(seed: int) -> list[float]:
        [found] = Lime(ExplainerParts(seed=seed, lime_samples=20)).explain(BagOfWords(WEIGHTS), [TEXT], [1])
        return found.scores.tolist()

    assert scores(0) == scores(0) != scores(1)


def test_occlusion_is_what_a_hidden_word_takes_away() -> None:
    subject = BagOfWords({**WEIGHTS, "[MASK]": 0.25})
    found = Occlusion(ExplainerParts()).explain(subject, [TEXT, WordText.of("bad")], [1, 0])
    assert found[0].scores == pytest.approx(np.array(TRUE) - 0.25) and found[0].total is None
    assert found[1].scores == pytest.approx(np.array([3.25]))
    assert subject.passes == 5 + 1 + 2


def test_occlusion_deletes_where_there_is_no_mask() -> None:
    [found] = Occlusion(ExplainerParts()).explain(BagOfWords(WEIGHTS, mask=None), [TEXT], [1])
    assert found.scores == pytest.approx(np.array(TRUE))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    model = build_model(tmp_path_factory.mktemp("model"), hidden_bias=True)
    with torch.no_grad():
        model.head.bias.fill_(100.0)  # all units open: the head is linear
    return model


@torch.no_grad()
def test_tokens_of_a_linear_head_get_their_contributions(model: LexicalSAE) -> None:
    ids, mask = encode(model, [*toy_reviews(4)[0], ""])
    state = model.classify(model(ids, mask), mask)
    classes = state.logits.argmax(-1)
    exact = DLA(ExplainerParts()).explain_tokens(model, state, classes)
    occluded = Occlusion(ExplainerParts()).explain_tokens(model, state, classes)
    assert occluded == pytest.approx(exact, abs=1e-3)
    fitted = Lime(ExplainerParts(lime_samples=1000)).explain_tokens(model, state, classes)
    assert np.corrcoef(fitted, exact)[0, 1] > 0.99
