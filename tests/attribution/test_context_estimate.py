"""The estimate of context: what hiding a word does, and nothing more."""

from __future__ import annotations

import pytest
import torch

from splade.attribution.context_estimate import estimate_contexts
from splade.data.words import encode_words
from splade.errors import DataError, ModelError
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model

SENTENCE = ["john", "watched", "unwatchable", "paris"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("tagger"), "dictionary", task="tagging")


def test_is_the_change_of_the_logit_when_a_word_is_hidden(model: LexicalSAE) -> None:
    found = estimate_contexts(model, SENTENCE, {3: "B-LOC"})[3]
    encoded = encode_words([SENTENCE], model.tokenizer, 64)
    ids, of_word = torch.from_numpy(encoded.ids).long()[None], torch.from_numpy(encoded.word).long()[None]

    def logit(shown: torch.Tensor) -> float:
        with torch.no_grad():
            state = model.tag(model(shown, torch.ones_like(shown)), torch.where(of_word == 3, 0, -1))
        return float(state.logits[0, model.labels.index("B-LOC")])

    assert found.logit == pytest.approx(logit(ids), abs=1e-5) and found.change[3] is None
    for word in range(3):
        hidden = torch.where(of_word == word, model.tokenizer.mask_token_id, ids)  # all pieces of it
        assert found.change[word] == pytest.approx(logit(ids) - logit(hidden), abs=1e-4)
    assert any(abs(change) > 1e-4 for change in found.change if change is not None)


def test_a_long_sentence_is_read_in_the_words_own_window(model: LexicalSAE) -> None:
    sentence = ["movie"] * 100 + ["paris"] + ["movie"] * 40
    found = estimate_contexts(model, sentence, {100: "B-LOC"})[100]
    assert found.change[0] is None and any(found.change[90:110]) and len(found.change) == 141


def test_words_asked_for_together_are_estimated_as_alone(model: LexicalSAE) -> None:
    sentence = (["john", "watched", "paris"] * 40)[:100]  # several windows
    tags = {0: "B-PER", 2: "B-LOC", 60: "O", 99: "B-PER"}
    together = estimate_contexts(model, sentence, tags)
    assert list(together) == list(tags)
    for word, tag in tags.items():
        alone = estimate_contexts(model, sentence, {word: tag})[word]
        assert together[word].change == pytest.approx(alone.change, abs=1e-4) and together[word].tag == tag
        assert [c is None for c in together[word].change] == [c is None for c in alone.change]


def test_a_word_or_tag_that_is_not_there_is_said(model: LexicalSAE) -> None:
    with pytest.raises(DataError, match="4 words"):
        estimate_contexts(model, SENTENCE, {4: "B-LOC"})
    with pytest.raises(ModelError, match="no tag 'B-ORG'"):
        estimate_contexts(model, SENTENCE, {0: "B-ORG"})
