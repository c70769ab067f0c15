"""What a removal does to a text, in two parts that are the whole difference of two real forward passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from splade.intervene import SuppressedModel, effect_on_texts
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.suppress import suppress_token_globally
from tests.builders import build_model, tagged_sentences, toy_reviews
from tests.surgery.models import CONTEXT, VARIANTS, state_of
from tests.surgery.test_suppressed_model import PROPERTY, several_words, texts_of_words


@pytest.mark.parametrize("name", VARIANTS)
class TestTwoParts:
    @PROPERTY
    @given(texts=texts_of_words, words=several_words)
    def test_sum_to_the_real_difference(
        self, shared: dict[str, LexicalSAE], name: str, texts: list[str], words: list[str]
    ) -> None:
        model = shared[name]
        fired = [t for t in set(state_of(model, texts).rows.token.tolist()) if t < model.vocabulary.tokens]
        suppressed = SuppressedModel(model, tokens=[*sorted(fired)[:3], "film"], words=words)
        before, after = (state_of(one, texts).logits.tolist() for one in (model, suppressed))
        for one, first, second in zip(effect_on_texts(suppressed, texts), before, after, strict=True):
            assert list(one.logits_before.values()) == pytest.approx(first, abs=1e-5)
            assert list(one.logits_after.values()) == pytest.approx(second, abs=1e-5)
            assert one.check() <= 1e-4
            for label, total in one.direct.items():
                assert sum(token.direct[label] for token in one.tokens) == pytest.approx(total, abs=1e-4)

    def test_a_shut_token_loses_its_contribution(self, shared: dict[str, LexicalSAE], name: str) -> None:
        model, texts = shared[name], toy_reviews(3)[0]
        tokens = [one for one in model.explain(texts)[0].tokens if one.token_id >= 0]
        loudest = max(tokens, key=lambda one: abs(one.score))
        [effect, *_] = effect_on_texts(SuppressedModel(model, tokens=[loudest.token_id]), texts)
        explained = model.explain(texts)[0]
        same = {int(model.vocabulary.base[loudest.token_id])}
        lost = sum(one.score for one in explained.tokens if int(model.vocabulary.base[one.token_id]) in same)
        assert effect.direct[explained.target] == pytest.approx(-lost, abs=1e-5)
        assert {int(model.vocabulary.base[token.column]) for token in effect.tokens} == same
        assert all(token.after == 0.0 for token in effect.tokens)

    def test_nothing_removed_nothing_changed(self, shared: dict[str, LexicalSAE], name: str) -> None:
        texts = toy_reviews(3)[0]
        for one in effect_on_texts(SuppressedModel(shared[name], words=["london"]), texts):
            assert not one.tokens and not one.flipped and set(one.change.values()) == {0.0}
            assert set(one.direct.values()) == {0.0} and one.check() == 0.0


@pytest.mark.parametrize("context", [0, 2])
def test_of_a_tagger_every_word_has_its_effect(tmp_path: Path, context: int) -> None:
    model = build_model(tmp_path, **{**CONTEXT, "context": context})
    sentences = tagged_sentences(6)[0]
    effects = effect_on_texts(SuppressedModel(model, tokens=["london"], words=["john", "the"]), sentences)
    assert [(one.example, one.number) for one in effects] == [
        (n, number) for n, words in enumerate(sentences) for number in range(len(words))
    ]
    assert max(one.check() for one in effects) <= 1e-4 and any(one.tokens for one in effects)


def test_the_effect_told_is_that_of_removing_for_good(tmp_path: Path) -> None:
    model, texts = build_model(tmp_path), toy_reviews(5)[0]
    effects = effect_on_texts(SuppressedModel(model, tokens=["good", "film"], words=["plot"]), texts)
    suppress_token_globally(model, ["good", "film"], ["plot"])
    for one, logits in zip(effects, state_of(model, texts).logits.tolist(), strict=True):
        assert list(one.logits_after.values()) == pytest.approx(logits, abs=1e-5)
        assert one.to_json()["direct"] == one.direct
