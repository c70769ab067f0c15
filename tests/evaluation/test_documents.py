"""Whole documents: what their windows decide together."""

from __future__ import annotations

import numpy as np
import pytest

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.data.words import encode_words
from splade.evaluation.documents import Documents
from splade.evaluation.run import evaluate
from splade.explainers import Subject, WordText
from splade.explainers.windows import document_logits
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model

CONFIG = EvaluationConfig(batch_size=4, measures=["documents"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


def long_texts(number: int, words: int) -> list[str]:
    chosen = np.random.default_rng(3).choice([*POSITIVE, *NEGATIVE, *NOUNS], (number, words))
    return [" ".join(row) for row in chosen]


def test_long_texts_are_read_whole_and_short_ones_left_out(model: LexicalSAE) -> None:
    long = long_texts(9, 3 * model.max_length)
    subject = Subject(model, model.tokenizer, model.max_length)
    whole = document_logits(subject, [WordText.of_words(text.split()) for text in long]).argmax(-1).tolist()
    labels = [*whole[:6], *(1 - label for label in whole[6:])]  # six right, three wrong
    split = TextSplit(["a good film", *long], [0, *labels])
    found = evaluate(model, ClassificationTask(split, model.tokenizer, model.max_length), CONFIG, share=0.1)[Documents]
    assert (found.texts, found.long_texts, found.dense_accuracy) == (9, 9, None)
    assert found.accuracy is not None and found.accuracy.mean == pytest.approx(6 / 9)
    cut = subject.logits(long).argmax(-1).numpy() == labels
    assert found.cut_accuracy is not None and found.cut_accuracy.mean == pytest.approx(cut.mean())


def test_the_logits_are_the_mean_of_the_windows(model: LexicalSAE) -> None:
    words = long_texts(1, 2 * model.max_length)[0].split()
    windows = len(encode_words([words], model.tokenizer, model.max_length).sentence)
    assert windows > 1
    short = [WordText.of_words(words[:10])]
    subject = Subject(model, model.tokenizer, model.max_length)
    np.testing.assert_allclose(document_logits(subject, short), subject.logits([short[0].text]), atol=1e-4)


def test_where_nothing_is_cut_there_is_nothing_to_measure(model: LexicalSAE) -> None:
    task = ClassificationTask(TextSplit(["a good film", "a bad film"], [1, 0]), model.tokenizer, model.max_length)
    with pytest.raises(KeyError):
        _ = evaluate(model, task, CONFIG, share=0.1)[Documents]
