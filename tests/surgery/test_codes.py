"""Kept codes: what a removal leaves of them is what the model itself gives without what is removed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.data.types import TextSplit
from splade.errors import ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.models.removal import Removal
from splade.surgery.code_arrays import codes_from_arrays, codes_to_arrays
from splade.surgery.codes import (
    CodeReader,
    Codes,
    as_it_is,
    logits_of,
    read_codes,
)
from splade.surgery.suppressed_model import SuppressedModel
from splade.surgery.targets import find_targets
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews
from tests.models.open_word_models import UNMET
from tests.surgery.models import PARTS, VARIANTS, state_of

POOLED_BY_MAX = [name for name, settings in VARIANTS.items() if settings.get("pooling", "max") == "max"]
PROPERTY = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(model: LexicalSAE, texts: list[str], batch_size: int = 8) -> Codes:
    task = ClassificationTask(TextSplit(texts, [0] * len(texts)), model.tokenizer, model.max_length)
    return read_codes(model, task, {"plain": as_it_is}, batch_size)[0]["plain"]


@pytest.mark.parametrize("name", POOLED_BY_MAX)
class TestEveryModel:
    @PROPERTY
    @given(
        texts=st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=10).map(" ".join), min_size=1, max_size=4),
        tokens=st.lists(st.sampled_from(PARTS[:-2]), max_size=3, unique=True),
        words=st.lists(st.sampled_from(PARTS[:-2]), max_size=3, unique=True),
    )
    def test_what_is_left_is_what_the_model_gives(
        self, shared: dict[str, LexicalSAE], name: str, texts: list[str], tokens: list[str], words: list[str]
    ) -> None:
        model, removal = shared[name], Removal()
        for kind in ({"tokens": tokens}, {"words": words}):
            if any(kind.values()):
                try:
                    removal |= find_targets(model, **kind).removal  # type: ignore[arg-type]
                except Exception:  # what no column stands for is not among what this is about
                    continue
        codes = read(model, texts, batch_size=2).without(model, removal)
        expected = state_of(SuppressedModel(model, removal=removal), texts)
        torch.testing.assert_close(logits_of(model, codes), expected.logits, rtol=1e-4, atol=1e-4)
        dense = CodeReader(model, codes).rows(np.arange(len(texts))).to_dense()
        torch.testing.assert_close(dense, expected.sparse_vector, rtol=1e-4, atol=1e-4)

    def test_they_are_the_same_from_a_file(self, shared: dict[str, LexicalSAE], name: str) -> None:
        model, texts = shared[name], [*toy_reviews(6)[0], f"a {UNMET[0]} film", ""]
        codes = read(model, texts)
        again = codes_from_arrays(codes_to_arrays(codes))
        assert again.words == codes.words and again.unmet == codes.unmet and len(again) == len(texts)
        torch.testing.assert_close(logits_of(model, again), logits_of(model, codes), rtol=0, atol=0)


def test_some_texts_in_another_order(shared: dict[str, LexicalSAE]) -> None:
    model = shared["neighbourhood"]
    codes, rows = read(model, toy_reviews(9)[0]), np.array([4, 0, 7])
    torch.testing.assert_close(logits_of(model, codes.take(rows)), logits_of(model, codes)[rows])


def test_words_never_met_are_found_again_when_their_columns_went_to_others(tmp_path: Path) -> None:
    model = build_model(tmp_path, head="tied_mlp", texts=["an unwatchable film"])
    with torch.no_grad():
        model.encoder.bias += 20.0
    texts = [f"the {word}" for word in UNMET]
    codes = read(model, texts)
    before = logits_of(model, codes)
    assert codes.unmet and model.open_words is not None
    model.open_words.forget()
    read(model, [f"a {word}" for word in reversed(UNMET)])
    torch.testing.assert_close(logits_of(model, codes), before, rtol=1e-4, atol=1e-4)


def test_what_cannot_be_kept_is_refused(shared: dict[str, LexicalSAE], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="pooling by max was expected"):
        read(shared["attention"], ["a film"])
    tagger = build_model(tmp_path, task="tagging")
    with pytest.raises(ModelError, match="one that classifies texts was expected"):
        read(tagger, ["a film"])


def test_other_texts_in_the_place_of_some(shared: dict[str, LexicalSAE]) -> None:
    model = shared["neighbourhood"]
    texts, others = [*toy_reviews(5)[0], f"a {UNMET[0]} film"], [f"{UNMET[1]} and {UNMET[0]}", "london"]
    mixed = read(model, texts).with_others(np.array([1, 5]), read(model, others))
    expected = [texts[0], others[0], *texts[2:5], others[1]]
    torch.testing.assert_close(logits_of(model, mixed), logits_of(model, read(model, expected)), rtol=1e-4, atol=1e-4)
