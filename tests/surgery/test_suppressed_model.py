"""A model without some tokens and words: exactly without them, otherwise a model like any other, and reversible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError, ModelError
from splade.evaluation.run import evaluate
from splade.inference import explain_batch, predict_batch
from splade.intervene import SuppressedModel
from splade.models.lexical_sae import LexicalSAE
from splade.models.protocol import LexicalModel, is_lexical
from splade.tasks import ClassificationTask
from tests.builders import build_model, encode, toy_reviews
from tests.models.test_protocol import members
from tests.surgery.models import CONTEXT, PARTS, VARIANTS, places_of, state_of, sums

texts_of_words = st.lists(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=4
)
several_words = st.lists(st.sampled_from(PARTS[:-2]), min_size=1, max_size=4, unique=True)
PROPERTY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", VARIANTS)
class TestTokens:
    @PROPERTY
    @given(texts=texts_of_words, words=several_words)
    def test_a_shut_token_is_zero_for_every_input_and_the_identity_holds(
        self, shared: dict[str, LexicalSAE], name: str, texts: list[str], words: list[str]
    ) -> None:
        model = shared[name]
        before = state_of(model, texts)
        active = sorted({int(model.vocabulary.base[token]) for token in before.rows.token.tolist()})[:3]
        targets = [*words, *(token for token in active if token < model.vocabulary.tokens)]
        try:
            suppressed = SuppressedModel(model, tokens=targets)
        except ConfigError:
            return  # words that the tokenizer splits, of a model that has no columns for them
        after = state_of(suppressed, texts)
        removal = suppressed.own_removal
        fired = {int(model.vocabulary.base[token]) for token in after.rows.token.tolist()}
        assert not fired & removal.tokens
        columns = {model.open_words.column_of(word) for word in removal.split} if model.open_words else set()
        assert not fired & columns
        torch.testing.assert_close(sums(after), after.logits, rtol=1e-4, atol=1e-4)

    @PROPERTY
    @given(texts=texts_of_words, words=several_words)
    def test_undo_gives_the_same_bits(
        self, shared: dict[str, LexicalSAE], name: str, texts: list[str], words: list[str]
    ) -> None:
        model = shared[name]
        before = state_of(model, texts)
        suppressed = SuppressedModel(model, words=words)
        state_of(suppressed, texts)
        assert torch.equal(state_of(model, texts).logits, before.logits)
        assert suppressed.undo() is model
        again = state_of(suppressed, texts)
        assert torch.equal(again.logits, before.logits) and torch.equal(again.rows.value, before.rows.value)

    def test_the_logits_do_not_move_when_the_score_does(self, shared: dict[str, LexicalSAE], name: str) -> None:
        model, texts = shared[name], toy_reviews(4)[0]
        before = state_of(model, texts)
        token = int(model.vocabulary.base[before.rows.token[before.rows.value.argmax()]])
        suppressed = SuppressedModel(model, tokens=[token])
        logits = state_of(suppressed, texts).logits
        with torch.no_grad():
            model.encoder.bias[token] += 5.0
        try:
            assert not torch.equal(state_of(model, texts).logits, before.logits)
            assert torch.equal(state_of(suppressed, texts).logits, logits)
        finally:
            with torch.no_grad():
                model.encoder.bias[token] -= 5.0

    def test_removing_what_is_not_active_changes_nothing(self, shared: dict[str, LexicalSAE], name: str) -> None:
        model, texts = shared[name], toy_reviews(4)[0]
        before = state_of(model, texts)
        idle = sorted(set(range(model.vocabulary.tokens)) - set(model.vocabulary.base[before.rows.token].tolist()))[:50]
        after = state_of(SuppressedModel(model, tokens=idle, words=["london"]), texts)
        assert torch.equal(after.logits, before.logits)


@pytest.mark.parametrize("name", VARIANTS)
class TestWords:
    @PROPERTY
    @given(texts=texts_of_words, words=several_words)
    def test_nothing_speaks_where_a_silenced_word_stands_and_elsewhere_all_do(
        self, shared: dict[str, LexicalSAE], name: str, texts: list[str], words: list[str]
    ) -> None:
        model = shared[name]
        suppressed = SuppressedModel(model, words=words)
        ids, mask = encode(model, texts)
        normal = [model.vocabulary.normalise(word) for word in words]
        silent = places_of(model, texts, normal)
        with torch.no_grad():
            before, after = (one(ids, mask).active_pairs() for one in (model, suppressed))
            dense = suppressed(ids, mask).to_dense().flatten(0, 1)
        assert not silent[after[0]].any() and not dense[silent].any()
        kept = {(p, c): v for p, c, v in zip(*map(torch.Tensor.tolist, before), strict=True) if not silent[p]}
        assert kept == dict(((p, c), v) for p, c, v in zip(*map(torch.Tensor.tolist, after), strict=True))
        state = state_of(suppressed, texts)
        assert not silent[state.rows.by_position()[1]].any()
        torch.testing.assert_close(sums(state), state.logits, rtol=1e-4, atol=1e-4)

    def test_stands_where_it_stands_in_every_casing(self, shared: dict[str, LexicalSAE], name: str) -> None:
        model = shared[name]
        texts = ["film Film FILM filmness", "Unwatchable unwatchable film", "the plot"]
        found = places_of(model, texts, ["film", "unwatchable"])
        ids, mask = encode(model, texts)
        groups = model.vocabulary.word_groups(ids, mask)
        words = [sorted(set(row[place].tolist())) for row, place in zip(groups, found.view_as(groups), strict=True)]
        assert words == [[0, 1, 2], [0, 1, 2], []]


class TestLikeAnyOther:
    def test_offers_all_that_a_model_must(self, tmp_path: Path) -> None:
        model = build_model(tmp_path)
        suppressed = SuppressedModel(model, tokens=["film"], words=["plot"])
        assert (
            is_lexical(suppressed) and [name for name in members(LexicalModel) if not hasattr(suppressed, name)] == []
        )
        assert suppressed.suppressed_words == ["film"] and suppressed.silenced_words == ["plot"]
        assert model.suppressed_words == model.silenced_words == [] and not model.removal
        assert sorted(name for name, _ in suppressed.named_parameters()) == sorted(
            f"model.{name}" for name, _ in model.named_parameters()
        )

    def test_is_asked_and_measured(self, tmp_path: Path) -> None:
        model = build_model(tmp_path, "neighbourhood+dictionary")
        texts, labels = toy_reviews(16)
        suppressed = SuppressedModel(model, words=["film", "movie"])
        assert [one.label for one in suppressed.predict(texts)] == [
            one.label for one in predict_batch(suppressed, texts)
        ]
        assert suppressed.predict_proba(texts).shape == (16, 2)
        for one in explain_batch(suppressed, texts):
            assert one.check() < 1e-4
            assert all(word.score == 0 for word in one.words if word.word in ("film", "movie"))
        task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, 24)
        figures = evaluate(suppressed, task, EvaluationConfig(), share=0.1).to_json()  # type: ignore[arg-type]
        model.silence(["film", "movie"])
        assert figures == evaluate(model, task, EvaluationConfig(), share=0.1).to_json()

    def test_one_around_another(self, tmp_path: Path) -> None:
        model, texts = build_model(tmp_path), ["the film was good", "a good plot"]
        once = SuppressedModel(model, tokens=["good"])
        twice = SuppressedModel(once, words=["film"])
        both = SuppressedModel(model, tokens=["good"], words=["film"])
        assert torch.equal(state_of(twice, texts).logits, state_of(both, texts).logits)
        assert twice.removal == both.removal

    @pytest.mark.parametrize("context", [0, 2])
    def test_a_tagger(self, tmp_path: Path, context: int) -> None:
        model = build_model(tmp_path, **{**CONTEXT, "context": context})
        sentence = ["john", "saw", "the", "german-made", "Film", "in", "unwatchable", "paris", "."]
        suppressed = SuppressedModel(model, words=["film", "german-made", "unwatchable"])
        assert suppressed.matched is not None and suppressed.matched.unmatched == ()
        [tagged] = suppressed.tag([sentence])
        assert [word.word for word in tagged.words] == sentence
        for number in range(len(sentence)):
            [before], [found] = (one.explain([sentence], word=number) for one in (model, suppressed))
            explanation = found.explained[0].explanation
            assert explanation.check() < 1e-4
            scores = {word.word: word.score for word in explanation.words}
            assert all(scores.get(word, 0.0) == 0.0 for word in ("Film", "german-made", "unwatchable"))
            if not context and sentence[number] not in ("Film", "german-made", "unwatchable"):
                assert explanation.logits == pytest.approx(before.explained[0].explanation.logits, abs=1e-5)

    def test_a_capped_tagger_hears_the_next_loudest(self, tmp_path: Path) -> None:
        model = build_model(tmp_path, "neighbourhood+dictionary", task="tagging", active=30)
        model.topk_per_position = 2
        ids, mask = encode(model, ["john saw the film"])
        with torch.no_grad():
            before = model.tag(model(ids, mask))
            loudest = int(before.rows.token[before.rows.value.argmax()])
            suppressed = SuppressedModel(model, tokens=[loudest])
            after = suppressed.tag(suppressed(ids, mask))
        assert loudest not in after.rows.token.tolist() and int(after.rows.counts.max()) == 2

    def test_what_would_change_or_save_it_is_refused(self, tmp_path: Path) -> None:
        suppressed = SuppressedModel(build_model(tmp_path), tokens=["film"])
        for refused in (lambda: suppressed.save_pretrained(tmp_path / "out"), lambda: suppressed.suppress(["plot"])):
            with pytest.raises(ModelError, match="suppress_token_globally"):
                refused()
        assert not (tmp_path / "out").exists()

    def test_the_decoder_of_a_faster_scan_is_the_same(self, tmp_path: Path) -> None:
        """A view shares what the encoder keeps in bfloat16, also for words met since."""
        model = build_model(tmp_path, head="tied_mlp", active=30)
        ids, mask = encode(model, ["an unwatchable zzzing film"])
        with torch.no_grad():
            sequence = model(ids, mask)
            rough = replace(sequence, hidden=sequence.hidden.bfloat16())
            model.encoder.pool(rough)
            view = SuppressedModel(model, words=["plot"]).encoder
            rows, _ = view.pool(replace(rough, encoder=view))
            expected, _ = model.encoder.pool(rough)
        assert torch.equal(rows.token, expected.token)
