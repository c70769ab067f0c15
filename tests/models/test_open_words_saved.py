"""Split words saved and loaded, shut for good, and in heads with a weight vector a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from safetensors.torch import load_file

from splade.errors import LexicalSAEError
from splade.models.folder import SETTINGS, WEIGHTS
from splade.models.lexical_sae import LexicalSAE
from splade.models.record import FORMAT
from splade.models.vocabulary import Vocabulary
from tests.builders import build_tokenizer, encode
from tests.models.open_word_models import (
    FAMILIES,
    HEADS,
    KNOWN,
    TEXTS,
    UNMET,
    active_names,
    build,
    check_identity,
    column_of,
    logits,
    opened,
    pieces_of,
    with_senses,
)
from tests.runs import digest


class TestSaving:
    SAID: ClassVar = ["the film was unwatchable", "a goodly cityer film", "zzzing xqj", "good", "Unwatchable", ""]

    @pytest.mark.parametrize("head", HEADS)
    @pytest.mark.parametrize("family", FAMILIES)
    def test_a_loaded_model_says_the_same_of_known_and_unmet_words(
        self, tmp_path: Path, family: str, head: str
    ) -> None:
        model = build(tmp_path, family=family, head=head)
        expected = logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        torch.testing.assert_close(logits(loaded, self.SAID), expected, rtol=0, atol=1e-5)
        for text in self.SAID:
            assert active_names(loaded, text) == active_names(model, text)
        first, known = model.vocabulary.tokens, opened(model).known
        assert loaded.vocabulary.names[: first + known] == model.vocabulary.names[: first + known]
        assert (opened(loaded).known, opened(loaded).often) == (known, opened(model).often)
        check_identity(loaded, self.SAID)

    def test_free_rows_are_not_in_the_file(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        tensors = load_file(tmp_path / "saved" / WEIGHTS)
        kept = model.vocabulary.tokens + len(KNOWN) + 1
        for name in ("encoder.weight", "encoder.bias", "encoder.suppressed", "encoder.gate.raw", "head.words"):
            assert len(tensors[name]) == kept, name
        saved = json.loads((tmp_path / "saved" / SETTINGS).read_text())
        assert (saved["format"], saved["open_words"], saved["frequent_open_words"]) == (FORMAT, len(KNOWN), 0)
        assert saved["shut_words"] == []

    def test_meeting_words_leaves_no_trace_in_it(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        before = model.save_pretrained(tmp_path / "before")
        logits(model, self.SAID)
        assert model.save_pretrained(tmp_path / "after") == before
        assert digest(tmp_path / "before" / WEIGHTS) == digest(tmp_path / "after" / WEIGHTS)

    def test_saved_loaded_and_saved_again_is_the_same_file(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        first = model.save_pretrained(tmp_path / "first")
        loaded = LexicalSAE.from_pretrained(tmp_path / "first", "cpu")
        logits(loaded, self.SAID)
        assert loaded.save_pretrained(tmp_path / "second") == first

    def test_a_state_dict_goes_into_a_model_made_alike(self, tmp_path: Path) -> None:
        model, other = build(tmp_path), build(tmp_path)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.mul_(1.05)  # alike for all columns of nobody
        assert not torch.allclose(logits(other, self.SAID), logits(model, self.SAID), atol=1e-3)
        other.load_state_dict(model.state_dict())
        torch.testing.assert_close(logits(other, self.SAID), logits(model, self.SAID), rtol=0, atol=1e-5)

    def test_after_senses_too(self, tmp_path: Path) -> None:
        model = with_senses(tmp_path)
        expected = logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        torch.testing.assert_close(logits(loaded, self.SAID), expected, rtol=0, atol=1e-5)
        tensors = load_file(tmp_path / "saved" / WEIGHTS)
        kept = model.vocabulary.tokens + len(KNOWN) + 1
        assert len(tensors["encoder.gate.raw"]) == len(tensors["encoder.suppressed"]) == kept + 4
        assert len(tensors["encoder.weight"]) == len(tensors["head.words"]) == kept

    def test_a_first_word_of_one_piece_is_found_alike_by_a_loaded_model(self, tmp_path: Path) -> None:
        """A byte-level tokenizer may write a text's first word by one token that begins no word: the names that known
        words have been given must not be taken for tokens."""
        tokenizer = build_tokenizer("bpe")
        vocabulary = Vocabulary.from_tokenizer(tokenizer, len(tokenizer))
        wanted = [
            name
            for token, name in enumerate(vocabulary.names)
            if vocabulary.speaker[token] < 0 and name.isalpha() and name.isascii() and not vocabulary.stop[token]
        ]
        words = [word for word in wanted if len(tokenizer(word, add_special_tokens=False)["input_ids"]) == 1]
        assert words
        model = build(tmp_path, family="roberta", texts=[f"film {word}" for word in words])
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        assert torch.equal(loaded.vocabulary.speaker, model.vocabulary.speaker)
        for word in words:
            assert word in active_names(model, f"{word} film") and word in active_names(loaded, f"{word} film")
        texts = [f"{word} film" for word in words]
        torch.testing.assert_close(logits(loaded, texts), logits(model, texts), rtol=1e-5, atol=1e-5)


class TestSuppressing:
    @pytest.mark.parametrize("when", ["known", "met", "unmet"])
    @pytest.mark.parametrize("family", FAMILIES)
    def test_shuts_a_split_word_for_good(self, tmp_path: Path, family: str, when: str) -> None:
        model = build(tmp_path, family=family, known=when == "known")
        texts = ["an unwatchable film", "unwatchable", "Unwatchable film", "a goodly film"]
        if when == "met":
            logits(model, texts)
        model.suppress(["unwatchable"])
        model.save_pretrained(tmp_path / "saved")
        for each in (model, LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")):
            spoken = [{name.lower() for name in active_names(each, text)} for text in texts]
            assert not any("unwatchable" in names for names in spoken)
            assert "film" in spoken[0] and not spoken[1] and "goodly" in spoken[3]
            assert "unwatchable" in each.suppressed_words
            assert {name.lower() for name in each.suppressed_words} == {"unwatchable"}
            opened(each).forget()
            assert "unwatchable" not in active_names(each, texts[0])
            check_identity(each, texts)

    def test_shuts_it_however_it_is_written(self, tmp_path: Path) -> None:
        model = build(tmp_path, family="roberta")
        model.suppress(["Unwatchable"])
        for text in ("unwatchable", "film unwatchable", "Unwatchable", "film Unwatchable", "UNWATCHABLE"):
            assert active_names(model, text) <= {"film"} | active_names(model, "film"), text

    @pytest.mark.parametrize("head", HEADS)
    def test_together_with_whole_words(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head, neighbours=1)
        model.suppress(["good", "unwatchable", "zzzing"])
        assert active_names(model, "good unwatchable zzzing film") == {"film"}
        assert sorted(model.suppressed_words) == ["good", "unwatchable", "zzzing"]

    def test_several_words_at_once_are_refused_as_before(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        with pytest.raises(LexicalSAEError, match="good unwatchable"):
            model.suppress(["good unwatchable"])
        assert model.suppressed_words == []

    def test_where_split_words_do_not_speak_they_cannot_be_shut(self, tmp_path: Path) -> None:
        with pytest.raises(LexicalSAEError, match="unwatchable"):
            build(tmp_path, "full").suppress(["unwatchable"])


class TestHeadsWithoutMeanings:
    """A table that is learned row by row has none for words that training never met."""

    @pytest.mark.parametrize("head", ["relu_mlp", "bcos"])
    def test_known_words_speak_and_others_are_silent(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head)
        words = opened(model)
        assert (words.free, len(words)) == (0, len(KNOWN) + 1)
        assert len(model.head.words) == model.vocab_size == model.vocabulary.tokens + len(KNOWN) + 1
        assert active_names(model, "unwatchable goodly") == set(KNOWN)
        assert active_names(model, "zzzing xqj") == set()
        assert "film" in active_names(model, "zzzing film")
        assert words.columns_of([pieces_of(model, "zzzing")]) == [-1]
        check_identity(model, [*TEXTS, *UNMET, ""])

    @pytest.mark.parametrize("head", ["relu_mlp", "bcos"])
    def test_what_a_known_word_says_is_learned(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head).train()
        model.classify(model(*encode(model, ["unwatchable zzzing"]))).logits[:, 0].sum().backward()
        grad = model.head.words.grad
        assert grad is not None and grad[column_of(model, "unwatchable")].any()
        if head == "relu_mlp":  # a B-cos head's lengths are of all words
            assert not grad[column_of(model, "goodly")].any()

    def test_without_training_texts_all_are_silent(self, tmp_path: Path) -> None:
        model = build(tmp_path, head="relu_mlp", known=False)
        assert active_names(model, "unwatchable zzzing") == set()
        check_identity(model, [*TEXTS, *UNMET])
