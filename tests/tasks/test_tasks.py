"""Tasks answer for themselves: rows, subsets, classes, explanations, and the words to speak of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from splade.config.schema import Config
from splade.data.tasks import TASK_DATA
from splade.data.types import TaggedSplit, TextSplit
from splade.inference import explain_batch
from splade.models.lexical_sae import LexicalSAE
from splade.tagging import explain_tags_batch
from splade.task_description import TASK_DESCRIPTIONS, describe
from splade.tasks import TASKS, ClassificationTask, TaggingTask, Task
from splade.tasks.base import UNLABELLED
from tests.builders import build_model, tagged_sentences, toy_reviews


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("tagger"), task="tagging")


@pytest.fixture(scope="module")
def texts(classifier: LexicalSAE) -> ClassificationTask:
    return ClassificationTask(TextSplit(*toy_reviews(20)), classifier.tokenizer, classifier.max_length)


@pytest.fixture(scope="module")
def sentences(tagger: LexicalSAE) -> TaggingTask:
    return TaggingTask(TaggedSplit(*tagged_sentences(20)), tagger.tokenizer, tagger.max_length, tagger.labels)


def test_every_task_is_described_read_and_done() -> None:
    assert TASKS.names() == TASK_DESCRIPTIONS.names() == TASK_DATA.names() == ["classification", "tagging"]
    for name in TASKS.names():
        assert TASKS.get(name).description is describe(name) and describe(name).name == name
    assert describe(None) is describe(Config().task)  # results of earlier versions do not name it


def test_the_words_to_speak_of_it(texts: Task, sentences: Task) -> None:
    assert (texts.name, texts.unit, texts.units, texts.figure) == ("classification", "text", "texts", "accuracy")
    assert (sentences.name, sentences.unit, sentences.units, sentences.figure) == ("tagging", "word", "words", "f1")
    assert (texts.split.unit, sentences.split.unit) == (describe("classification").example, describe("tagging").example)


def test_settings_that_are_idle_exist() -> None:
    for setting in describe("classification").idle_settings:
        section, key = setting.split(".")
        assert hasattr(getattr(Config(), section), key)


def test_the_rows_of_positions(classifier: LexicalSAE, texts: Task, tagger: LexicalSAE, sentences: Task) -> None:
    batch = texts.batch([3, 5])
    assert torch.equal(texts.row_of_position(batch), torch.tensor([[0], [1]]).expand_as(batch.input_ids))
    words = sentences.batch([3, 5])
    rows = sentences.row_of_position(words)
    assert rows.shape == words.input_ids.shape and rows.max() + 1 == len(words.labels)
    with torch.no_grad():
        assert texts.sequence(classifier, batch).num_rows == 2
        assert sentences.sequence(tagger, words).num_rows == len(words.labels)


def test_the_examples_of_rows(texts: Task, sentences: Task) -> None:
    assert texts.example_of_row.tolist() == list(range(20))
    assert np.array_equal(np.bincount(sentences.example_of_row), [len(words) for words in sentences.split.examples])


def test_subsets_and_reasons(texts: Task, sentences: Task) -> None:
    labels = torch.tensor([0, 1, 0, 3])
    assert texts.subsets(labels) == {} and texts.reasoned(labels) is None
    assert sentences.subsets(labels)["entities"].tolist() == [1, 3]
    reasoned = sentences.reasoned(labels)
    assert reasoned is not None and reasoned.tolist() == [1, 3]


def test_classes_are_decided_by_the_whole_task(texts: Task, sentences: Task) -> None:
    assert texts.decided_at_once and not sentences.decided_at_once
    logits = torch.randn(20, 2)
    assert np.array_equal(texts.decide_classes(logits), logits.argmax(-1).numpy())
    # I-LOC everywhere is no possible sentence, however probable.
    inside = torch.nn.functional.one_hot(torch.full((len(sentences.labels),), 2), 5).float()
    assert sentences.decide_classes(inside)[0] != 2


def test_rows_are_explained_as_their_texts_are(
    classifier: LexicalSAE, texts: Task, tagger: LexicalSAE, sentences: Task
) -> None:
    rows = np.array([2, 7])
    assert texts.explain_rows(classifier, rows) == explain_batch(classifier, [texts.split.texts[row] for row in rows])
    chosen = [sentences.split.examples[row] for row in rows]
    assert sentences.explain_rows(tagger, rows) == explain_tags_batch(tagger, chosen)  # type: ignore[arg-type]


def test_a_task_needs_no_labels(classifier: LexicalSAE, tagger: LexicalSAE) -> None:
    texts = ClassificationTask.unlabelled(["a film", "a dull film"], classifier)
    words = TaggingTask.unlabelled([["london"], ["a", "film"]], tagger)
    for task, rows in ((texts, 2), (words, 3)):
        assert task.labels.tolist() == [UNLABELLED] * rows
        loss = torch.nn.functional.cross_entropy(torch.randn(rows, 5), torch.tensor(task.labels), reduction="sum")
        assert float(loss) == 0  # nobody learns from them by mistake


def test_what_was_cut_is_said(classifier: LexicalSAE, tagger: LexicalSAE) -> None:
    long = ClassificationTask.unlabelled(["good " * 100, "good"], classifier)
    assert long.cut_note("test", 64) == ["1 of 2 test texts were cut to 64 tokens."]
    word = TaggingTask.unlabelled([["xq" * 40, "good"]], tagger)
    assert word.cut_note("training", 64) == ["1 of the training words were cut to 64 tokens."]
    assert ClassificationTask.unlabelled(["good"], classifier).cut_note("test", 64) == []


def test_words_that_a_window_only_shows_have_numbers_of_their_own(tagger: LexicalSAE) -> None:
    """A sentence in overlapping windows: every word is decided once, and both windows show those around the cut."""
    words = ["john", "unwatchable", "movie"] * 20
    task = TaggingTask.unlabelled([words], tagger)
    batch = task.batch(range(len(task)))
    assert len(task) > 1 and batch.words is not None and batch.place is not None
    assert sorted(batch.place.tolist()) == list(range(len(words)))
    shown = batch.words <= -2
    assert shown.any() and torch.equal(task.row_of_position(batch) >= 0, batch.words >= 0)
    for line, numbers in enumerate(batch.words):
        stands = [batch.place[n] if n >= 0 else -2 - n for n in numbers.tolist() if n != -1]
        assert sorted(stands) == stands and len(set(stands)) == stands[-1] - stands[0] + 1, line  # none left out
