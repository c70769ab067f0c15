"""The tokens and words that speak loudest for a class, and the columns that are words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.attribution.explanation import NOT_A_WORD
from splade.errors import ConfigError, ModelError
from splade.intervene import get_clean_vocab_mask, get_top_tokens
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, build_tokenizer, toy_reviews
from tests.surgery.models import CONTEXT, VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_means_are_those_of_the_explanations(shared: dict[str, LexicalSAE], name: str) -> None:
    model, texts = shared[name], [*toy_reviews(10)[0], "an unwatchable zzzing film", ""]
    top = get_top_tokens(model, texts, k=10_000)
    assert list(top) == model.labels
    for label in model.labels:
        expected: dict[str, float] = {}
        for one in model.explain(texts, label):
            for token in one.tokens:
                expected[token.token] = expected.get(token.token, 0.0) + token.score / len(texts)
        found = {one.name: one.mean for one in top[label]}
        expected.pop(NOT_A_WORD, None)
        assert found == pytest.approx(expected, abs=1e-4)
        means = [one.mean for one in top[label]]
        assert means == sorted(means, reverse=True)
    first = model.labels[0]
    assert get_top_tokens(model, texts, k=3, label=first) == {first: top[first][:3]}


def test_words_of_the_texts(shared: dict[str, LexicalSAE]) -> None:
    model, texts = shared["neighbourhood"], ["the Film was good", "good unwatchable film"]
    top = get_top_tokens(model, texts, label=model.labels[0], of="words")[model.labels[0]]
    expected: dict[str, float] = {}
    for one in model.explain(texts, model.labels[0]):
        for word in one.words:
            if word.tokens:
                expected[word.word.lower()] = expected.get(word.word.lower(), 0.0) + word.score / 2
    assert {one.name: one.mean for one in top} == pytest.approx(expected, abs=1e-5)
    assert "unwatchable" in expected


def test_of_a_tagger(tmp_path: Path) -> None:
    model = build_model(tmp_path, **CONTEXT)
    for of in ("tokens", "words"):
        top = get_top_tokens(model, ["john saw paris", ["the", "u.s."]], k=2, of=of)  # type: ignore[arg-type]
        assert list(top) == model.labels and all(len(its) == 2 for its in top.values())


def test_bad_questions(shared: dict[str, LexicalSAE]) -> None:
    with pytest.raises(ModelError):
        get_top_tokens(shared["full"], ["a"], label="other")
    with pytest.raises(ConfigError):
        get_top_tokens(shared["full"], ["a"], of="letters")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        get_clean_vocab_mask("film")


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_clean_columns_of_every_tokenizer(kind: str) -> None:
    tokenizer = build_tokenizer(kind)  # type: ignore[arg-type]
    mask = get_clean_vocab_mask(tokenizer)
    pieces = tokenizer.convert_ids_to_tokens(range(len(mask)))
    clean = {piece.lstrip("Ġ▁") for piece, fit in zip(pieces, mask.tolist(), strict=True) if fit}
    assert {"film", "good", "the"} <= clean
    assert not clean & {"[CLS]", "<s>", ".", "a", "##ing"} and all(word[0].isalpha() for word in clean)


def test_clean_columns_of_a_model_with_split_words_senses_and_offsets(
    shared: dict[str, LexicalSAE], tmp_path: Path
) -> None:
    for model in (shared["neighbourhood"], shared["senses"], build_model(tmp_path, **CONTEXT)):
        mask = get_clean_vocab_mask(model)
        assert len(mask) == len(model.vocabulary) and mask.dtype == torch.bool
        names = {name for name, fit in zip(model.vocabulary.names, mask.tolist(), strict=True) if fit}
        assert "film" in names and "" not in names and "[CLS]" not in names
    assert "unwatchable" in {
        name
        for name, fit in zip(shared["senses"].vocabulary.names, get_clean_vocab_mask(shared["senses"]), strict=True)
        if fit
    }
