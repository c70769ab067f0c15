"""k-sparse probes: columns chosen and rules fitted by hand, on training rows alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation import sparse_probing
from splade.evaluation.sparse_probing import (
    Probe,
    few_texts,
    fit_probe,
    gathered,
    mean_hidden,
    probe,
    read_rows,
    strongest_columns,
)
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask
from splade.tasks.base import UNLABELLED
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews

# Column 0 tells class 1, column 1 class 2, column 2 nothing at a large scale, column 3 is never active.
FEATURES = np.array([[0, 0, 90, 0], [0.1, 0, 0, 0], [1, 0, 90, 0], [1.1, 0, 0, 0], [0, 2, 90, 0], [0, 2.2, 0, 0]])
LABELS = np.array([0, 0, 1, 1, 2, 2])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("features", [FEATURES, csr_matrix(FEATURES)], ids=["dense", "sparse"])
def test_columns_are_chosen_by_difference_and_not_by_scale(features: object) -> None:
    columns = strongest_columns(features, LABELS, 4, 2)
    assert columns[1, 0] == 0 and columns[2, 0] == 1
    assert set(columns[0]) == {0, 1}  # neither is active in class 0
    assert columns.shape == (4, 2)  # a class that no row has gets columns all the same
    fitted = fit_probe(features, LABELS, columns)
    assert fitted.decide(features).tolist() == LABELS.tolist()
    assert np.isneginf(fitted.bias[3])  # and is never given


def test_a_rule_by_hand() -> None:
    probe = Probe(np.array([[0], [1]]), np.array([[1.0], [2.0]]), np.array([0.0, -1.0]))
    assert probe.decide(np.array([[1.0, 0.5], [1.0, 1.5], [0.0, 0.0]])).tolist() == [0, 1, 0]


def test_one_class_alone_is_always_given() -> None:
    labels = np.ones(6, dtype=int)
    columns = strongest_columns(FEATURES, labels, 2, 1)
    assert fit_probe(FEATURES, labels, columns).decide(FEATURES).tolist() == [1] * 6


def test_random_labels_are_not_read_off(model: LexicalSAE) -> None:
    generator = np.random.default_rng(0)
    features = csr_matrix(generator.random((400, 50)) * (generator.random((400, 50)) < 0.1))
    labels = generator.integers(0, 2, 400)
    fitted = fit_probe(features[:200], labels[:200], strongest_columns(features[:200], labels[:200], 2, 5))
    assert (fitted.decide(features[200:]) == labels[200:]).mean() < 0.6


def test_rows_are_what_the_model_decides_by(model: LexicalSAE) -> None:
    texts, labels = toy_reviews(12)
    labels[3] = UNLABELLED
    task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, 64)
    rows = gathered(list(read_rows(model, task, np.arange(12), 5)))
    assert rows.code.shape == (11, model.vocab_size) and rows.hidden.shape == (11, 32)
    assert 3 not in rows.texts and sorted(rows.texts) == [n for n in range(12) if n != 3]
    batch = task.batch([7])
    with torch.no_grad():
        encoded = model(batch.input_ids, batch.attention_mask)
        here = list(rows.texts).index(7)
        torch.testing.assert_close(torch.from_numpy(rows.hidden[here]), encoded.hidden[0].mean(0), atol=1e-5, rtol=1e-4)
        state = model.classify(encoded)
    assert np.allclose(rows.code[here].toarray()[0], state.sparse_vector[0].numpy(), atol=1e-5)


def test_the_hidden_state_of_a_word_is_that_of_its_pieces(tmp_path_factory: pytest.TempPathFactory) -> None:
    tagger = build_model(tmp_path_factory.mktemp("tagger"), task="tagging")
    task = TaggingTask(TaggedSplit([["the", "unwatchable", "film"]], [[0, 0, 0]]), tagger.tokenizer, 64, TAGS)
    batch = task.batch([0])
    with torch.no_grad():
        hidden = tagger(batch.input_ids, batch.attention_mask).hidden
    means = mean_hidden(hidden, batch, task)
    assert batch.words is not None
    pieces = (batch.words[0] == 1).nonzero()[:, 0]
    assert len(means) == 3 and len(pieces) > 1
    torch.testing.assert_close(means[1], hidden[0, pieces].mean(0))


def test_texts_for_fitting_are_few_and_drawn(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TaggingTask(TaggedSplit(*tagged_sentences(30)), model.tokenizer, 64, TAGS)
    assert few_texts(task, 0).tolist() == list(range(30))
    monkeypatch.setattr(sparse_probing, "MOST_ROWS", 40)
    chosen = few_texts(task, 0)
    assert 30 < task.size(chosen) <= 40 and chosen.tolist() == sorted(set(chosen.tolist()))
    assert chosen.tolist() != list(range(len(chosen))) and few_texts(task, 1).tolist() != chosen.tolist()


def test_probes_never_see_the_test_rows(model: LexicalSAE) -> None:
    training = ClassificationTask(TextSplit(*toy_reviews(60)), model.tokenizer, 64)
    texts, labels = toy_reviews(30, seed=5)
    found, turned = (
        probe(
            model,
            ClassificationTask(TextSplit(texts, given), model.tokenizer, 64),
            np.arange(30),
            training,
            batch_size=16,
            seed=0,
        )
        for given in (labels, [1 - label for label in labels])
    )
    assert (found.training_rows, found.rows) == (60, 30) and list(found.columns) == [1, 2, 5]
    assert found.words == turned.words and set(found.words) == {"class 0", "class 1"}
    for k, scores in found.columns.items():
        assert scores.accuracy is not None and turned.columns[k].accuracy is not None
        assert scores.accuracy.mean == pytest.approx(1 - turned.columns[k].accuracy.mean)
        assert scores.accuracy.low <= scores.accuracy.mean <= scores.accuracy.high
    assert found.majority == pytest.approx(1 - turned.majority)
