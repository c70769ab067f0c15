"""Models are asked by their methods, with whatever holds texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import splade
from splade.errors import ConfigError, DataError, ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import TagCircuitState
from tests.builders import build_model, encode, toy_reviews

TEXTS = toy_reviews(5)[0]

CONTAINERS: dict[str, Callable[[list[str]], Iterable[str]]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "generator": lambda texts: (text for text in texts),
    "Series": lambda texts: pd.Series(texts, index=[f"row {n}" for n in range(len(texts))]),
}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("classifier"), classes=3)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("tagger"), task="tagging")


@pytest.mark.parametrize("container", CONTAINERS)
def test_texts_come_in_whatever_people_have(classifier: LexicalSAE, container: str) -> None:
    texts = CONTAINERS[container](TEXTS)
    assert list(classifier.predict(texts)) == splade.predict_batch(classifier, TEXTS)
    texts = CONTAINERS[container](TEXTS)
    assert list(classifier.explain(texts, "class 2")) == splade.explain_batch(classifier, TEXTS, "class 2")
    probabilities = classifier.predict_proba(CONTAINERS[container](TEXTS))
    assert probabilities.shape == (5, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert [classifier.labels[row.argmax()] for row in probabilities] == [p.label for p in classifier.predict(TEXTS)]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_tagger_answers_in_words(tagger: LexicalSAE, container: str) -> None:
    expected = splade.tag_batch(tagger, TEXTS)
    assert list(tagger.tag(CONTAINERS[container](TEXTS))) == expected
    assert [tagged.text for tagged in tagger.predict(CONTAINERS[container](TEXTS), batch_size=2)] == TEXTS
    explained = tagger.explain(CONTAINERS[container](TEXTS), word=1)
    assert [[word.number for word in text.explained] for text in explained] == [[1]] * 5


def test_a_series_keeps_its_index(classifier: LexicalSAE, tagger: LexicalSAE) -> None:
    texts = pd.Series(TEXTS, index=[7, 3, 9, 1, 2])
    for answers in (classifier.predict(texts), classifier.explain(texts), tagger.tag(texts), tagger.explain(texts)):
        assert isinstance(answers, pd.Series) and list(answers.index) == [7, 3, 9, 1, 2]


def test_no_texts_have_no_answers(classifier: LexicalSAE, tagger: LexicalSAE) -> None:
    assert classifier.predict([]) == classifier.explain([]) == tagger.tag([]) == []
    assert classifier.predict_proba([]).shape == (0, 3)


def test_the_documents_way_to_tag_is_the_same_method(tagger: LexicalSAE) -> None:
    """`model.tag(sparse_seq)` of the documents decides on every position."""
    ids, mask = encode(tagger, TEXTS)
    with torch.no_grad():
        sequence = tagger(ids, mask)
        state = tagger.tag(sequence)
        assert isinstance(state, TagCircuitState)
        torch.testing.assert_close(state.logits, tagger.tag_words(sequence).logits, rtol=0, atol=0)


def test_what_cannot_be_answered_is_said(classifier: LexicalSAE, tagger: LexicalSAE) -> None:
    with pytest.raises(DataError, match="put it in a list"):
        classifier.predict("one text")
    with pytest.raises(ModelError, match="tags words"):
        tagger.predict_proba(TEXTS)
    with pytest.raises(ModelError, match="classifies texts"):
        classifier.tag(TEXTS)
    with pytest.raises(ModelError, match="no label 'good'"):
        classifier.explain(TEXTS, "good")
    with pytest.raises(ConfigError, match=r"word was given, but the model classifies texts, .* leave it out\."):
        classifier.explain(TEXTS, word=0)
    with pytest.raises(ConfigError, match="context was given, but the model classifies texts"):
        classifier.explain(TEXTS, context=True)


def test_an_unknown_option_is_refused_by_the_method_that_was_called(classifier: LexicalSAE) -> None:
    with pytest.raises(TypeError, match=r"explain\(\) got an unexpected keyword argument 'top'") as caught:
        classifier.explain(TEXTS, top=3)  # type: ignore[call-arg]
    assert "explain_texts" not in str(caught.value)


def test_a_loaded_model_has_them(classifier: LexicalSAE, tmp_path: Path) -> None:
    classifier.save_pretrained(tmp_path)
    assert LexicalSAE.from_pretrained(tmp_path, "cpu").predict(TEXTS) == classifier.predict(TEXTS)
