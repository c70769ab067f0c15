"""Look-alikes: pairs by hand, and a model in which a word does suffer for another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.evaluation.look_alikes import LookAlikes, matched_pairs
from splade.evaluation.measure import References, Scope
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model


def test_pairs_by_hand() -> None:
    #                    0  1  2  3  4  5  6  7
    counts = np.array([0, 9, 0, 0, 2, 0, 0, 0])
    content = np.array([0, 1, 1, 1, 1, 1, 1, 0], dtype=bool)
    words = [(2, 7), (1, 7), (0, 7), (2, 6), (5, 7)]
    # 2 begins two split words and counts once; 1 has texts of its own; 0 is no content word; 3, 4 and 6 begin none.
    assert matched_pairs(words, counts, content) == [((2, 7), 2, 3), ((5, 7), 5, 4)]


def measured(model: LexicalSAE, training: list[str]) -> LookAlikes:
    task = ClassificationTask(TextSplit(training, [0] * len(training)), model.tokenizer, 64)
    references = References(load_training=lambda: task)
    return LookAlikes(Scope(model, task, EvaluationConfig(), share=0.1, references=references))


@pytest.fixture
def model(tmp_path: Path) -> LexicalSAE:
    return build_model(tmp_path, head="tied_mlp", neighbours=1).eval()


def test_what_a_word_leans_by_is_its_logit_less_that_of_an_empty_text(model: LexicalSAE) -> None:
    found = measured(model, ["a goodly film", "an unwatchable goodly plot"]).result()
    assert found.pairs >= 1
    for pair in found.strongest:
        texts = ["", pair.word, pair.control]
        label = model.labels.index(pair.label)
        logits = [dict(one.logits)[pair.label] for one in model.explain(texts, target=pair.label)]
        assert pair.lean == pytest.approx(logits[1] - logits[0], abs=1e-5)
        assert pair.control_lean == pytest.approx(logits[2] - logits[0], abs=1e-5)
        assert label in (0, 1)


def test_a_word_that_suffers_is_found(model: LexicalSAE) -> None:
    """Every split word and the word it begins with are made to say the same, and all other words nothing."""
    measure = measured(model, ["a goodly film", "goodly plot"])
    before = measure.result()
    [pair] = [one for one in before.strongest if one.split_word == "goodly"]
    good, control = (model.vocabulary.match(word)[0] for word in (pair.word, pair.control))
    assert model.open_words is not None
    pieces = tuple(model.tokenizer("goodly", add_special_tokens=False)["input_ids"])
    [column] = model.open_words.columns_of([pieces])
    with torch.no_grad():
        row = model.head.words[column].clone()
        model.head.words[good], model.head.words[control] = row, 0.0
    after = measure.result()
    [pair] = [one for one in after.strongest if one.split_word == "goodly"]
    assert abs(pair.lean) > abs(pair.control_lean)


def test_nothing_to_compare(model: LexicalSAE) -> None:
    found = measured(model, ["a good film"]).result()
    assert (found.higher, found.difference, found.pairs, found.strongest) == (None, None, 0, [])
