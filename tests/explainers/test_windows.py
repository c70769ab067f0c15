"""Long texts for explainers that know of no windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch

from splade.explainers import DLA, ExplainerParts, Subject, WordScores, WordText
from splade.explainers.explainer import Explainer
from splade.explainers.windows import DocumentWindows, document_logits, read_and_explain
from splade.models.dense import DenseHead
from splade.models.lexical_sae import LexicalSAE
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def subject(model: LexicalSAE) -> Subject:
    return Subject(model, model.tokenizer, model.max_length, batch_size=4)


def document(words: int, seed: int = 0) -> WordText:
    return WordText.of_words(np.random.default_rng(seed).choice([*POSITIVE, *NEGATIVE, *NOUNS], words).tolist())


class Places(Explainer):
    """Scores a word by its length and class, and notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__(ExplainerParts())
        self.asked: list[WordText] = []

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        self.asked += texts
        return [
            WordScores(np.array([len(word) + 100 * class_ for word in text.words], dtype=float))
            for text, class_ in zip(texts, classes, strict=True)
        ]


def test_every_word_gets_the_score_of_a_window_that_fits(subject: Subject) -> None:
    documents, explainer = [document(200), document(5), document(61, seed=1)], Places()
    found = explainer.explain_documents(subject, documents, [1, 0, 2])
    for text, class_, scores in zip(documents, [1, 0, 2], found, strict=True):
        assert scores.tolist() == [len(word) + 100 * class_ for word in text.words]
    lengths = [len(subject.tokenizer(text.text)["input_ids"]) for text in explainer.asked]
    assert max(lengths) <= subject.max_length and len(lengths) > 5
    assert explainer.asked.count(documents[1]) == 1, "what fits stays as it is"


def test_windows_overlap_and_keep_what_stands_between_words(subject: Subject) -> None:
    text = WordText.of_words(document(100).words)
    spaced = WordText.of(text.text.replace(" ", "  "))
    windows = DocumentWindows.cut(subject, [spaced])
    [own] = windows.of
    assert [window.text in spaced.text for window in windows.texts] == [True] * len(own)
    assert all(before.end > after.start for before, after in pairwise(own))


def test_our_own_explainer_decides_on_all_windows_together(model: LexicalSAE, subject: Subject) -> None:
    documents = [document(150), document(8, seed=2), document(90, seed=3)]
    labels = np.array([0, 1, 1])
    found = read_and_explain(subject, documents, labels)
    np.testing.assert_allclose(found.logits, document_logits(subject, documents).numpy(), atol=1e-5)
    for classes, scores in ((found.classes, found.predicted), (labels, found.label)):
        for own, again in zip(
            scores, DLA(ExplainerParts()).explain_documents(subject, documents, classes), strict=True
        ):
            np.testing.assert_allclose(own, again, atol=1e-6)
    short = DLA(ExplainerParts()).explain(subject, documents[1:2], [1])[0]
    np.testing.assert_allclose(found.label[1], short.scores, atol=1e-4)


def test_of_other_models_the_mean_of_the_windows_decides(model: LexicalSAE) -> None:
    class Dense(torch.nn.Module):
        has_sparse_rows, labels = False, ("a", "b")

        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.head = model.backbone, DenseHead(32, 8, 2)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.backbone(input_ids, attention_mask)

        def classify(self, hidden: torch.Tensor, attention_mask: torch.Tensor):  # type: ignore[no-untyped-def]
            return type("State", (), {"logits": self.head(hidden, attention_mask)})

    subject = Subject(Dense(), model.tokenizer, model.max_length)  # type: ignore[arg-type]
    documents = [document(150), document(8, seed=2)]
    windows = DocumentWindows.cut(subject, documents[:1])
    found = document_logits(subject, documents)
    expected = subject.logits([text.text for text in windows.texts]).mean(0)
    np.testing.assert_allclose(found[0].numpy(), expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), subject.logits([documents[1].text])[0].numpy(), atol=1e-5)
