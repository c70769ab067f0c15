"""Deleting a word from the text, which is neither shutting its token nor silencing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.intervene import SuppressedModel, delete_words, deletion_effect
from tests.builders import build_model
from tests.surgery.models import CONTEXT, state_of


def test_the_model_reads_the_text_without_the_word(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    text = "The Film was good , a film !"
    assert delete_words(model, [text, "plot"], ["FILM"]) == ["The was good , a !", "plot"]
    [effect] = deletion_effect(model, [text], "film")
    assert effect.deleted == (1, 6) and effect.shorter == "The was good , a !"
    after = state_of(model, ["The was good , a !"]).logits[0].tolist()
    assert list(effect.after[0].values()) == pytest.approx(after, abs=1e-5)
    silenced = state_of(SuppressedModel(model, words=["film"]), [text]).logits[0].tolist()
    assert silenced != pytest.approx(after, abs=1e-5)  # the backbone still read it
    assert effect.change[0]["class 0"] == pytest.approx(after[0] - effect.before[0]["class 0"], abs=1e-5)


def test_of_a_tagger_the_words_that_are_left(tmp_path: Path) -> None:
    model = build_model(tmp_path, **CONTEXT)
    [effect] = deletion_effect(model, [["john", "saw", "Paris", "."]], ["paris"])
    assert effect.shorter == ["john", "saw", "."] and effect.deleted == (2,)
    assert len(effect.before) == len(effect.after) == len(effect.change) == 3


def test_a_word_that_is_not_there(tmp_path: Path) -> None:
    [effect] = deletion_effect(build_model(tmp_path), ["a film"], ["plot"])
    assert effect.shorter == "a film" and effect.deleted == () and set(effect.change[0].values()) == {0.0}
