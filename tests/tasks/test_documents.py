"""Documents in windows: decided as a whole, with exact scores of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from splade.models.lexical_sae import LexicalSAE
from splade.tasks.documents import read_documents
from splade.tasks.reader import read_texts
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model, toy_reviews


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("documents"))


def long_document(words: int, seed: int = 0) -> list[str]:
    return np.random.default_rng(seed).choice([*POSITIVE, *NEGATIVE, *NOUNS], words).tolist()


def read(model: LexicalSAE, documents: list[list[str]]) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Logits, the scores of words toward class 1, and the bias of it."""
    logits, bias = np.zeros((len(documents), 2)), np.zeros(len(documents))
    scores: list[np.ndarray] = [np.zeros(0)] * len(documents)
    for batch in read_documents(model, documents, batch_size=4):
        ones = torch.ones(len(batch.rows), dtype=torch.long)
        for number, (row, of_words) in enumerate(zip(batch.rows, batch.word_scores(ones), strict=True)):
            logits[row], scores[row] = batch.logits[number].numpy(), of_words
            bias[row] = float(batch.bias[number, 1])
    return logits, scores, bias


@pytest.mark.parametrize("support", ["neighbourhood", "neighbourhood+dictionary", "full"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_text_that_fits_is_read_as_it_always_is(tmp_path: Path, support: str, family: str) -> None:
    model, texts = build_model(tmp_path, support, family), toy_reviews(10)[0]
    logits, scores, bias = read(model, [text.split() for text in texts])
    for batch in read_texts(model, texts, 3):
        np.testing.assert_allclose(logits[batch.rows], batch.state.logits.numpy(), atol=1e-4)
    assert [len(of_words) for of_words in scores] == [len(text.split()) for text in texts]
    if support != "full":  # there the special tokens have their say too, which is no word's
        np.testing.assert_allclose([of_words.sum() for of_words in scores] + bias, logits[:, 1], atol=1e-4)


@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_the_words_of_a_long_document_add_up_to_its_logit(tmp_path: Path, pooling: str) -> None:
    model = build_model(tmp_path, pooling=pooling)
    documents = [long_document(words, seed=words) for words in (300, 7, 150, 64, 90)]
    logits, scores, bias = read(model, documents)
    assert [len(of_words) for of_words in scores] == [300, 7, 150, 64, 90]
    np.testing.assert_allclose([of_words.sum() for of_words in scores] + bias, logits[:, 1], atol=1e-4)
    spoke = np.flatnonzero(scores[0])
    assert spoke.min() < 60 and spoke.max() > 240, "the end of a document has its say"


def test_which_documents_are_read_together_changes_nothing(model: LexicalSAE) -> None:
    documents = [long_document(words, seed=words) for words in (200, 80, 5)]
    together, alone = read(model, documents), [read(model, [document]) for document in documents]
    np.testing.assert_allclose(together[0], np.concatenate([logits for logits, _, _ in alone]), atol=1e-4)
    for of_words, (_, (own,), _) in zip(together[1], alone, strict=True):
        np.testing.assert_allclose(of_words, own, atol=1e-4)
