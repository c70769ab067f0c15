"""What a removal does to a data set: flips, the figure before and after, and the tokens that took over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from splade.errors import DataError
from splade.intervene import SuppressedModel, effect_on_data
from splade.models.lexical_sae import LexicalSAE
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews
from tests.surgery.models import CONTEXT


@pytest.fixture
def model(tmp_path: Path) -> LexicalSAE:
    return build_model(tmp_path, active=40)


def test_counts_what_two_models_say(model: LexicalSAE) -> None:
    texts, numbers = toy_reviews(40)
    labels = [model.labels[number] for number in numbers]
    suppressed = SuppressedModel(model, words=["movie", "film", "good", "bad", "plot", "story", "dull", "charming"])
    effect = effect_on_data(suppressed, texts, labels)
    before, after = ([one.label for one in each.predict(texts)] for each in (model, suppressed))
    flipped = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert effect.rows == 40 and effect.flipped == flipped and effect.flips == len(flipped) > 0
    assert sum(move.rows for move in effect.moves) == effect.flips
    accuracy = [sum(a == b for a, b in zip(each, labels, strict=True)) / 40 for each in (before, after)]
    assert [effect.before, effect.after] == pytest.approx(accuracy) and effect.figure == "accuracy"
    assert effect.said_before > 0 and effect.said_after == 0 and effect.took_over == [] and effect.left == 0
    json.dumps(effect.to_json(), allow_nan=False)


def test_names_the_siblings_of_a_shut_token(model: LexicalSAE) -> None:
    """Of a shut token, its neighbours still speak where the word stands; of a silenced one, nothing does."""
    texts = ["the film was good", "a dull film", "no word of it"]
    effect = effect_on_data(SuppressedModel(model, tokens=["film"]), texts)
    expected: dict[str, float] = {}
    with torch.no_grad():
        for one in SuppressedModel(model, tokens=["film"]).explain(texts):
            for token in one.tokens:
                if one.text[:1] in "ta" and token.position == (2 if one.text[0] == "t" else 3):
                    expected[token.token] = expected.get(token.token, 0.0) + 1
    assert {one.name: one.rows for one in effect.took_over} == expected and "film" not in expected
    assert effect.before is effect.after is None
    assert effect.left is not None and effect.said_after > 0


@pytest.mark.parametrize("context", [0, 2])
def test_of_a_tagger(tmp_path: Path, context: int) -> None:
    model = build_model(tmp_path, **{**CONTEXT, "context": context})
    sentences, numbers = tagged_sentences(8)
    tags = [[TAGS[number] for number in each] for each in numbers]
    effect = effect_on_data(SuppressedModel(model, words=["john", "london"]), sentences, tags)
    assert effect.rows == sum(map(len, sentences)) and effect.figure == "f1" and effect.before is not None
    assert effect.said_after == 0 < effect.said_before


def test_labels_that_do_not_fit(model: LexicalSAE) -> None:
    suppressed = SuppressedModel(model, words=["film"])
    with pytest.raises(DataError, match="The model has no label 'other'"):
        effect_on_data(suppressed, ["a film"], ["other"])
    with pytest.raises(DataError, match="2 labels for 1 predictions"):
        effect_on_data(suppressed, ["a film"], ["class 0", "class 1"])


def test_no_texts(model: LexicalSAE) -> None:
    effect = effect_on_data(SuppressedModel(model, words=["film"]), [])
    assert (effect.rows, effect.flips, effect.largest_change, effect.left) == (0, 0, 0.0, None)
