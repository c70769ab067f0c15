"""Using a tagger: texts of words or strings, entities with their places, exact sums for the tag decoded."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from splade.attribution.explanation import NOT_A_WORD
from splade.attribution.tagged import TaggedText, TaggedWord
from splade.data.types import TaggedSplit
from splade.errors import ConfigError, DataError, ModelError
from splade.inference import predict_batch
from splade.models.heads import LinearRegion
from splade.models.lexical_sae import LexicalSAE
from splade.tagging import explain_tags, explain_tags_batch, tag_batch, tag_model
from splade.tasks import TaggingTask
from tests.builders import TAGS, build_model, tagged_sentences

TEXT = "The  bank of England didn't see John Smith, unwatchable."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tagger")


def tagger(folder: Path, **settings: object) -> LexicalSAE:
    return build_model(folder, "neighbourhood+dictionary", task="tagging", **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return tagger(folder)


def tagged(*tags: str) -> TaggedText:
    return TaggedText(
        " ".join("ab" for _ in tags),
        [TaggedWord("ab", 3 * n, 3 * n + 2, tag, {tag: 0.9 - n / 10}, 1) for n, tag in enumerate(tags)],
    )


class TestEntities:
    def test_are_a_beginning_and_what_goes_on_from_it(self) -> None:
        found = tagged("B-PER", "I-PER", "B-PER", "O", "B-LOC", "I-LOC").entities
        assert [(e.type, list(e.words), e.start, e.end) for e in found] == [
            ("PER", [0, 1], 0, 5),
            ("PER", [2], 6, 8),
            ("LOC", [4, 5], 12, 17),
        ]
        assert found[0].text == "ab ab" and found[0].probability == 0.8  # of its less certain word

    def test_of_tags_that_are_not_iob2(self) -> None:
        found = tagged("I-PER", "I-LOC", "O", "I-LOC").entities
        assert [(e.type, list(e.words)) for e in found] == [("PER", [0]), ("LOC", [1]), ("LOC", [3])]

    def test_there_may_be_none(self) -> None:
        assert tagged("O", "O").entities == [] and tagged().entities == []


class TestTag:
    def test_words_keep_their_places_in_the_text(self, model: LexicalSAE) -> None:
        found = tag_model(model, TEXT)
        assert [w.word for w in found.words][3:8] == ["England", "did", "n't", "see", "John"]
        assert all(TEXT[w.start : w.end] == w.word for w in found.words)
        assert all(sum(w.probabilities.values()) == pytest.approx(1) for w in found.words)

    def test_words_given_are_words_taken(self, model: LexicalSAE) -> None:
        """And tags are those that the evaluation's own path decodes, also where windows cut a text."""
        sentences = [*tagged_sentences(12)[0], ["john", "smith", "saw", "U.S.", "london", "."] * 40]
        task = TaggingTask(TaggedSplit(sentences, [[0] * len(s) for s in sentences]), model.tokenizer, 64, TAGS)
        logits = torch.zeros(len(task.labels), len(TAGS))
        with torch.no_grad():
            for batch in task.in_order(64, model.device):
                logits[batch.places] = task.predict(model, batch).logits
        found = tag_batch(model, sentences, batch_size=3)
        assert len(task) > len(sentences)  # the last is read in windows
        assert [[w.word for w in one.words] for one in found] == sentences
        assert [[w.tag for w in one.words] for one in found] == task.names(task.decode(logits))

    def test_tagging_keeps_no_states(self, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those of a batch are gone before the next but one is read; a word's would be C · d numbers."""
        alive: list[int] = []
        seen: list[weakref.ref[LinearRegion]] = []
        predict = TaggingTask.predict

        def counting(self: TaggingTask, *arguments: object) -> object:
            state = predict(self, *arguments)  # type: ignore[arg-type]
            seen.append(weakref.ref(state.region))
            alive.append(sum(each() is not None for each in seen))
            return state

        monkeypatch.setattr(TaggingTask, "predict", counting)
        tag_batch(model, [TEXT] * 6, batch_size=1)
        assert len(alive) == 6 and max(alive) <= 2

    def test_empty_texts_have_no_words(self, model: LexicalSAE) -> None:
        assert tag_batch(model, []) == []
        assert [one.words for one in tag_batch(model, ["", " \n", []])] == [[], [], []]
        assert len(tag_batch(model, ["", "john"])[1].words) == 1
        assert explain_tags(model, "").explained == []

    def test_an_entity_may_go_over_a_line_break(self, model: LexicalSAE) -> None:
        """A text is one sentence, and its line breaks are spaces."""
        text = "the bank of New\nYork\r\nsaw john"
        found, spaced = tag_model(model, text), tag_model(model, re.sub(r"\s", " ", text))
        assert [(w.start, w.end, w.tag) for w in found.words] == [(w.start, w.end, w.tag) for w in spaced.words]
        assert [text[w.start : w.end] for w in found.words][3:6] == ["New", "York", "saw"]
        assert all(text[e.start : e.end] == e.text for e in found.entities)
        over = tagged("B-LOC", "I-LOC").words
        assert TaggedText("ab\nab", over).entities[0].text == "ab\nab"

    def test_blank_words_of_a_list_are_tagged_too(self, model: LexicalSAE) -> None:
        found = tag_model(model, ["john", "", " ", "smith"])
        assert [w.word for w in found.words] == ["john", "", " ", "smith"]
        assert all(found.text[w.start : w.end] == w.word and w.tag in TAGS for w in found.words)

    def test_a_word_longer_than_the_model_reads_says_so(self, model: LexicalSAE) -> None:
        found = tag_batch(model, ["john smith", f"mary saw {'xq' * 45} in paris"])
        assert [[w.truncated for w in one.words] for one in found] == [[False] * 2, [False, False, True, False, False]]

    def test_half_a_surrogate_pair(self, model: LexicalSAE) -> None:
        assert tag_model(model, "john \ud800 smith").text == "john ? smith"

    @pytest.mark.parametrize("text", [None, 5, ["a", 3]])
    def test_what_is_no_text(self, model: LexicalSAE, text: object) -> None:
        with pytest.raises(DataError, match="a string or a list of words"):
            tag_model(model, text)  # type: ignore[arg-type]

    def test_one_text_for_a_list(self, model: LexicalSAE) -> None:
        with pytest.raises(DataError, match="put it in a list"):
            tag_batch(model, "john")

    @pytest.mark.parametrize("command", [tag_model, explain_tags])
    def test_a_list_of_texts_for_one(self, model: LexicalSAE, command: Callable[..., object]) -> None:
        name = {tag_model: "tag_batch", explain_tags: "explain_tags_batch"}[command]
        for texts in (["hello", "john saw paris"], pd.Series(["hello", "john saw paris"])):
            with pytest.raises(DataError, match=f"'john saw paris' of the list has spaces; give .* to {name}"):
                command(model, texts)
        with pytest.raises(DataError, match=f"word 0 of the one given is .* Several texts go to {name}"):
            command(model, [["john"], ["mary"]])

    def test_words_may_be_in_any_column(self, model: LexicalSAE) -> None:
        words = ["john", "saw", "paris"]
        kinds = [words, tuple(words), np.array(words), np.array(words, dtype=object), pd.Series(words, index=[2, 0, 1])]
        assert all(tag_model(model, kind) == tag_model(model, words) for kind in kinds)  # type: ignore[arg-type]
        assert tag_batch(model, kinds) == [tag_model(model, words)] * len(kinds)  # type: ignore[arg-type]

    def test_a_series_keeps_its_order_and_index(self, model: LexicalSAE) -> None:
        texts, index = ["john saw paris", ["mary", "smith"], ""], [2, 0, 0]
        for call in (tag_batch, explain_tags_batch):
            found = call(model, pd.Series(texts, index=index))
            assert isinstance(found, pd.Series) and found.index.tolist() == index
            assert found.tolist() == call(model, texts)

    def test_the_other_task(self, folder: Path, model: LexicalSAE) -> None:
        with pytest.raises(ModelError, match="classifies texts"):
            tag_model(build_model(folder), "john")
        with pytest.raises(ModelError, match="tags words"):
            predict_batch(model, ["john"])


class TestExplain:
    @pytest.mark.parametrize(
        "settings", [{}, {"head": "bcos"}, {"pooling": "attention", "word_pieces": "all"}, {"topk_per_position": 3}]
    )
    def test_sums_are_the_logits_of_the_tags_decoded(self, folder: Path, settings: dict[str, object]) -> None:
        own = tagger(folder, **settings)
        texts = [TEXT, *tagged_sentences(6)[0], " ".join(["john smith saw london ."] * 30)]
        found = explain_tags_batch(own, texts, batch_size=3)
        assert sum(len(one.explained) for one in found) > 10
        for one in found:
            assert [w.number for w in one.explained] == [n for e in one.tagged.entities for n in e.words]
            for word in one.explained:
                whole, tagged_word = word.explanation, one.tagged.words[word.number]
                assert whole.label == whole.target == tagged_word.tag
                assert whole.check() < 1e-5
                assert len(whole.tokens) <= tagged_word.active_tokens
                assert sum(t.token == NOT_A_WORD for t in whole.tokens) <= 1

    def test_any_word_and_any_tag(self, model: LexicalSAE) -> None:
        for n, tag in ((0, "B-PER"), (8, "O")):
            (word,) = explain_tags(model, TEXT, word=n, target=tag).explained
            assert (word.number, word.explanation.target) == (n, tag)
            assert word.explanation.check() < 1e-5
        with pytest.raises(DataError, match=r"Word 99 was asked for, but 'The  bank .*\.\.\.' has 12 word"):
            explain_tags(model, TEXT, word=99)
        assert [len(one.explained) for one in explain_tags_batch(model, ["john", TEXT, ""], word=3)] == [0, 1, 0]
        with pytest.raises(ModelError, match=r"no label 'B-LO'.* Did you mean 'B-LOC'\?"):
            explain_tags(model, TEXT, target="B-LO")

    @pytest.mark.parametrize("word", [-1, 1.5, True, "Gerry"])
    def test_a_word_is_a_whole_number(self, model: LexicalSAE, word: object) -> None:
        for ask in (partial(explain_tags, model, TEXT), partial(model.explain, [TEXT])):
            with pytest.raises(ConfigError, match=r"word is .*, but a whole number from 0 on was expected"):
                ask(word=word)  # type: ignore[operator]
        assert len(explain_tags(model, TEXT, word=np.int64(1)).explained) == 1  # type: ignore[arg-type]

    @pytest.mark.parametrize("call", [tag_batch, explain_tags_batch])
    def test_a_batch_size_is_a_whole_number(self, model: LexicalSAE, call: Callable[..., object]) -> None:
        with pytest.raises(ConfigError, match="batch_size is -1, but a whole number from 1 on was expected"):
            call(model, [TEXT], batch_size=-1)

    def test_context_is_measured_when_asked_for(self, model: LexicalSAE) -> None:
        assert explain_tags(model, TEXT, word=3).explained[0].context is None
        (word,) = explain_tags(model, TEXT, word=3, context=True).explained
        assert word.context is not None and len(word.context.change) == 12
        assert word.context.change[3] is None and any(word.context.change)
        assert word.context.logit == pytest.approx(word.explanation.logits[word.context.tag], abs=1e-4)

    def test_the_json_says_the_same(self, model: LexicalSAE) -> None:
        found = explain_tags(model, TEXT, word=3, context=True)
        written = found.to_json()
        assert list(written) == ["text", "entities", "words", "explained"]
        (word,) = written["explained"]  # type: ignore[misc]
        assert list(word) == [
            *("word", "tag", "target", "logits", "probabilities", "bias", "tokens", "words"),
            *("context_estimate", "context"),
        ]
        for effect, change in zip(word["context"], word["context_estimate"], strict=True):
            if effect is not None:
                assert effect["effect"] == change
                parts = effect["bias"] + sum(token["change"] for token in effect["tokens"])
                assert parts == pytest.approx(change, abs=1e-4)
        assert word["context"][3] is word["context_estimate"][3] is None
        for part in ("tokens", "words"):
            total = word["bias"] + sum(summand["score"] for summand in word[part])
            assert total == pytest.approx(word["logits"][word["target"]], abs=1e-5)
        assert [(w["word"], w["offset"]) for w in word["words"]] == [("England", 0)]
        assert {token["word"] for token in word["tokens"]} <= {3, None}
        assert "context_estimate" not in explain_tags(model, TEXT, word=3).to_json()["explained"][0]  # type: ignore[index]
