"""Words to be held against: those that are no stop words, those of a regression, and what fires before training."""

from __future__ import annotations

import numpy as np
import pytest

from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.explainers import Activations, ContentWords, Explainer, ExplainerParts, Random, Subject, TfIdf, WordText
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import NEGATIVE, POSITIVE, build_model, toy_reviews


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def subject(model: LexicalSAE) -> Subject:
    return Subject(model, model.tokenizer, model.max_length, batch_size=4)


def fitted(model: LexicalSAE, texts: list[str], labels: list[int], classes: int = 2) -> TfIdf:
    task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, model.max_length, list("abc")[:classes])
    return TfIdf(ExplainerParts(training=lambda: task))


def test_words_that_are_no_stop_words_come_first(subject: Subject) -> None:
    text = WordText.of_words(["The", "film", ",", "was", "not", "<b>", "good"])
    [first], [again], [other] = (
        ContentWords(ExplainerParts(seed=seed)).explain(subject, [text], [0]) for seed in (3, 3, 4)
    )
    assert sorted(np.argsort(-first.scores)[:3].tolist()) == [1, 4, 6], "film, not, good"
    assert first.scores.tolist() == again.scores.tolist() != other.scores.tolist()


@pytest.mark.parametrize("kind", [Random, ContentWords])
def test_what_is_drawn_of_a_text_depends_on_no_other_text(kind: type[Explainer], subject: Subject) -> None:
    """Else words at the same place would get the same scores where texts are explained one by one."""
    texts = [WordText.of("good film this"), WordText.of("fine plot that")]
    together, alone = kind(ExplainerParts()).explain(subject, texts, [0, 0]), []
    for text in texts:
        alone += kind(ExplainerParts()).explain(subject, [text], [0])
    assert [one.scores.tolist() for one in together] == [one.scores.tolist() for one in alone]
    assert not np.isclose(together[0].scores, together[1].scores).any()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_words_of_a_regression_add_up_to_its_logit(model: LexicalSAE, subject: Subject, classes: int) -> None:
    texts, labels = toy_reviews(60)
    labels = [number % classes for number in range(60)] if classes > 2 else labels
    regression = fitted(model, texts, labels, classes)
    asked = [
        WordText.of_words(["Good", "good", "film", "and", "unknownword"]),
        *map(WordText.of, texts[:5]),
        WordText.of("Good film."),
    ]
    logits = regression.logits([" ".join(text.words) for text in asked])
    decided = regression.decide(asked)
    assert decided.tolist() == logits.argmax(1).tolist()
    for class_ in range(classes):
        found = regression.explain(subject, asked, [class_] * len(asked))
        assert [one.total for one in found] == pytest.approx(logits[:, class_].tolist(), abs=1e-6)
    scores = regression.explain(subject, asked[:1], [1])[0].scores
    assert scores[0] == scores[1] != 0 and scores[4] == 0


def test_a_regression_finds_the_adjectives(model: LexicalSAE, subject: Subject) -> None:
    regression = fitted(model, *toy_reviews(200))
    texts, labels = toy_reviews(20, seed=9)
    words = [WordText.of_words(text.split()) for text in texts]
    assert regression.decide(words).tolist() == labels
    for text, found in zip(words, regression.explain(subject, words, labels), strict=True):
        assert text.words[int(found.scores.argmax())] in {*POSITIVE, *NEGATIVE}


def test_without_training_texts_nothing_is_fitted(subject: Subject) -> None:
    with pytest.raises(ConfigError, match="fitted to the training texts, which are not at hand; leave it out"):
        TfIdf(ExplainerParts()).explain(subject, [WordText.of("good film")], [0])


def test_activations_are_those_of_the_words(model: LexicalSAE, subject: Subject) -> None:
    texts = [WordText.of(text) for text in toy_reviews(5)[0]]
    explainer = Activations(ExplainerParts())
    found = explainer.explain(subject, texts, [0] * 5)
    for text, one, document in zip(texts, found, explainer.explain_documents(subject, texts, [1] * 5), strict=True):
        total = sum(token.value for token in model.explain([text.text])[0].tokens)
        assert one.scores.sum() == pytest.approx(total, rel=1e-4) and (one.scores >= 0).all()
        np.testing.assert_allclose(document, one.scores, rtol=1e-4, atol=1e-5)
