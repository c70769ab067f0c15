"""Deletion, measured: words are really deleted, and what no longer fits is said."""

from __future__ import annotations

import pytest

from splade import explain
from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.evaluation import deletion
from splade.evaluation.deletion import Deletion
from splade.evaluation.run import evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews

CONFIG = EvaluationConfig(batch_size=8, measures=["deletion"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


def test_each_word_is_deleted_and_its_share_is_that_of_the_explanation(model: LexicalSAE) -> None:
    texts, labels = toy_reviews(6)
    found = evaluate(model, ClassificationTask(TextSplit(texts, labels), model.tokenizer, 64), CONFIG, share=0.1)
    result = found[Deletion]
    dots = []
    for one in explain(model, texts):
        for word in one.words:
            if word.end > word.start:
                shorter = " ".join((one.text[: word.start].rstrip() + one.text[word.end :]).split())
                [without] = explain(model, [shorter], target=one.target)
                dots.append((word.score, one.logits[one.target] - without.logits[one.target]))
    assert (result.fidelity.texts, result.fidelity.words) == (6, len(dots))
    assert result.chance.words == len(dots) and found.to_json()["deletion"]["chance"]["tau"] == result.chance.tau
    tau = next(figure for figure in Deletion.figures if figure.key == "deletion.tau")
    assert tau.beside is not None and f"shares shuffled {result.chance.tau:.3f}" in tau.beside(found.to_json())
    for column in (0, 1):
        assert sorted(dot[column] for dot in result.dots) == pytest.approx(sorted(d[column] for d in dots), abs=2e-4)


def test_of_long_texts_fewer_are_read_and_the_results_say_so(
    model: LexicalSAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "POSITIONS", 150)
    monkeypatch.setattr(deletion, "WORDS_A_TEXT", 3)
    texts, labels = toy_reviews(20)
    task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, 64)
    fidelity = evaluate(model, task, CONFIG, share=0.1)[Deletion].fidelity
    assert 1 <= fidelity.texts < 20 and fidelity.words == 3 * fidelity.texts


def test_texts_without_words_are_no_error(model: LexicalSAE) -> None:
    task = ClassificationTask(TextSplit(["", "good"], [0, 1]), model.tokenizer, 64)
    assert evaluate(model, task, CONFIG, share=0.1)[Deletion].fidelity.texts == 0


def test_words_that_turn_others_are_named_in_their_place() -> None:
    from splade.explainers import WordText

    text = WordText.of("it is not a good film at all , they say")
    assert deletion._in_place(text, 2) == "it is [not] a good film at …"
    assert deletion._in_place(text, 6) == "… not a good film [at] all , they say"
