"""Context of tagged words: what really deleting another word does, as an exact sum over tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.attribution.tagged import ExplainedWord
from splade.data.words import encode_words, word_windows
from splade.models.lexical_sae import LexicalSAE
from splade.tagging import explain_tags, explain_tags_batch
from tests.builders import WORDS, build_model, tagged_sentences

UNKNOWN = ["xqzw", "unwatchable", "!", "é", "👍", " ", ""]
SENTENCE = ["john", "watched", "unwatchable", "paris"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tagger")


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return build_model(folder, "dictionary", task="tagging")


@pytest.fixture(scope="module")
def models(folder: Path, model: LexicalSAE) -> list[LexicalSAE]:
    """Also words heard by all their pieces, and pieces that know of the space before them."""
    return [
        model,
        build_model(folder, "neighbourhood+dictionary", task="tagging", pooling="attention", word_pieces="all"),
        build_model(folder, "neighbourhood", "roberta", task="tagging"),
    ]


def logit(model: LexicalSAE, sentence: list[str], word: int, tag: str) -> float:
    """Of a word of a sentence alone, by a plain prediction."""
    encoded = encode_words([sentence], model.tokenizer, model.max_length)
    ids, of_word = torch.from_numpy(encoded.ids).long()[None], torch.from_numpy(encoded.word).long()[None]
    with torch.no_grad():
        state = model.tag_words(model(ids, torch.ones_like(ids)), torch.where(of_word == word, 0, -1))
    return float(state.logits[0, model.labels.index(tag)])


def check(model: LexicalSAE, sentence: list[str], found: ExplainedWord) -> None:
    context = found.context
    assert context is not None and len(context.effects) == len(sentence) and context.effects[found.number] is None
    assert context.check() < 1e-4
    before = logit(model, sentence, found.number, context.tag)
    assert context.logit == pytest.approx(before, abs=1e-4)
    for gone, effect in enumerate(context.effects):
        if effect is not None:
            shorter = [*sentence[:gone], *sentence[gone + 1 :]]
            after = logit(model, shorter, found.number - (found.number > gone), context.tag)
            assert effect.effect == pytest.approx(before - after, abs=1e-4)


def test_is_the_change_of_the_logit_when_a_word_is_deleted(model: LexicalSAE) -> None:
    (found,) = explain_tags(model, SENTENCE, word=3, target="B-LOC", context=True).explained
    check(model, SENTENCE, found)
    assert found.context is not None and any(abs(change) > 1e-4 for change in found.context.change if change)
    effect = found.context.effects[0]
    assert effect is not None and effect.tokens
    after = explain_tags(model, SENTENCE[1:], word=2, target="B-LOC").explained[0].explanation
    scores = {token.token_id: token.score for token in found.explanation.tokens}
    without = {token.token_id: token.score for token in after.tokens}
    for token in effect.tokens:
        expected = scores.get(token.token_id, 0.0) - without.get(token.token_id, 0.0)
        assert token.change == pytest.approx(expected, abs=1e-4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sentence=st.lists(
        st.sampled_from([*WORDS, "xqzw", "unwatchable", "!", "é", "👍", " ", ""]), min_size=1, max_size=10
    ),
    word=st.integers(0, 9),
    which=st.integers(0, 2),
)
def test_sums_are_exact_whatever_the_words(
    models: list[LexicalSAE], sentence: list[str], word: int, which: int
) -> None:
    for found in explain_tags_batch(models[which], [sentence], word=word % len(sentence), context=True)[0].explained:
        check(models[which], sentence, found)


def test_of_a_long_sentence_the_words_of_the_same_window_are_deleted(model: LexicalSAE) -> None:
    sentence = [WORDS[n % len(WORDS)] for n in range(100)] + ["paris"] + [WORDS[n % len(WORDS)] for n in range(40)]
    (found,) = explain_tags(model, sentence, word=100, target="B-LOC", context=True).explained
    assert found.context is not None and found.context.check() < 1e-4 and len(found.context.change) == 141
    (window,) = [one for one in word_windows(sentence, model.tokenizer, 64) if one.first <= 100 < one.last]
    measured = [n for n, change in enumerate(found.context.change) if change is not None]
    assert measured == [n for n in range(window.start, window.end) if n != 100] and window.start > 0
    for gone in (measured[0], 95, 105, measured[-1]):  # the shorter sentence is read in windows of its own
        shorter = [*sentence[:gone], *sentence[gone + 1 :]]
        (after,) = explain_tags(model, shorter, word=100 - (gone < 100), target="B-LOC").explained
        plain = found.explanation.logits["B-LOC"] - after.explanation.logits["B-LOC"]
        assert found.context.change[gone] == pytest.approx(plain, abs=1e-4) and abs(plain) > 1e-4


def test_words_asked_for_together_are_as_alone(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splade.tasks.contexts.WORDS_AT_A_TIME", 30)  # in several groups
    sentences = [*tagged_sentences(4)[0], (["john", "watched", "paris"] * 40)[:100], ["john"], []]
    together = explain_tags_batch(model, sentences, word=0, context=True, batch_size=5)
    for sentence, found in zip(sentences, together, strict=True):
        for word in found.explained:
            (alone,) = explain_tags(model, sentence, word=word.number, context=True).explained
            assert word.context is not None and alone.context is not None
            assert word.context.change == pytest.approx(alone.context.change, abs=1e-5)
    entities = explain_tags(model, sentences[0], context=True).explained
    for word in entities:
        check(model, sentences[0], word)
