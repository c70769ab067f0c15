"""Tokens and words that carry most, and those that are no reasons, on attributions made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from splade.evaluation.artefacts import artefacts
from splade.evaluation.registers import Heaviest, HeaviestToken, RegisterMeter
from splade.evaluation.word_weights import WordMeter, WordWeight
from splade.models.sparse import Parts, SparseRows
from splade.models.vocabulary import Vocabulary
from splade.tasks import Batch
from tests.builders import build_tokenizer, sparse_rows

TOKENIZER = build_tokenizer()
VOCABULARY = Vocabulary.from_tokenizer(TOKENIZER, len(TOKENIZER))
SIZE = len(TOKENIZER)


def token(word: str) -> int:
    return TOKENIZER.convert_tokens_to_ids(word)


class TestRegisters:
    def test_of_all_and_of_each_class(self) -> None:
        meter = RegisterMeter(["a", "b", "never"], VOCABULARY)
        rows = [{"good": 2.0, "film": -1.0}, {"film": -3.0}, {"bad": 3.0}]
        meter.add(
            sparse_rows(*[{token(w): v for w, v in row.items()} for row in rows], vocab_size=SIZE),
            torch.tensor([0, 0, 1]),
        )
        meter.add(sparse_rows({token("film"): 0.0}, vocab_size=SIZE), torch.tensor([1]))
        by_class = {"a": HeaviestToken("film", pytest.approx(4 / 6), 2), "b": HeaviestToken("bad", 1.0, 2)}
        assert meter.result() == Heaviest("film", pytest.approx(4 / 9), 4, by_class)

    def test_the_heavy_ones_and_what_they_speak_for(self) -> None:
        meter = RegisterMeter(["a", "b"], VOCABULARY)
        rows = [{"good": 6.0, "film": 3.0, "dull": 0.1}, {"film": 3.0}]
        attribution = sparse_rows(*[{token(w): v for w, v in row.items()} for row in rows], vocab_size=SIZE)
        meter.add(attribution, torch.tensor([0, 1]))
        found = [(one.word, round(one.share, 2), one.label) for one in meter.heavy_tokens()]
        assert sorted(found) == [("film", 0.5, None), ("good", 0.5, "a")]

    def test_of_silence(self) -> None:
        meter = RegisterMeter(["a"], VOCABULARY)
        meter.add(sparse_rows({}, vocab_size=SIZE), torch.tensor([0]))
        assert meter.result() is None and meter.heavy_tokens() == []


def said_at(batch: Batch, *entries: tuple[int, int, str, float]) -> SparseRows:
    """Entries (text, position, token, value)."""
    entries = tuple(sorted(entries, key=lambda entry: (entry[0], token(entry[2]))))
    length = batch.input_ids.shape[1]
    return SparseRows(
        torch.tensor([text for text, _, _, _ in entries]),
        torch.tensor([token(name) for _, _, name, _ in entries]),
        torch.tensor([text * length + place for text, place, _, _ in entries]),
        torch.tensor([value for _, _, _, value in entries]),
        len(batch.input_ids),
        SIZE,
    )


def read(*texts: str) -> Batch:
    encoded = TOKENIZER(list(texts), padding=True, return_tensors="pt")
    return Batch(encoded["input_ids"], encoded["attention_mask"], torch.zeros(len(texts)), np.arange(len(texts)))


class TestWords:
    def test_what_arises_at_a_word_is_the_words_whichever_tokens_speak(self) -> None:
        batch = read("good film", "film")
        meter = WordMeter(["a", "b"], VOCABULARY)
        spoken = said_at(batch, (0, 1, "great", 1.0), (0, 2, "movie", 2.0), (0, 2, "story", 3.0), (1, 1, "movie", -4.0))
        meter.add(batch, spoken, torch.tensor([0, 1]))
        assert meter.result() == [WordWeight("film", 0.9, "a"), WordWeight("good", 0.1, "a")]

    def test_pieces_of_a_split_word_are_one_word(self) -> None:
        batch = read("unwatchable film")
        pieces = TOKENIZER.tokenize("unwatchable")
        assert len(pieces) > 1
        meter = WordMeter(["a"], VOCABULARY)
        spoken = said_at(batch, *[(0, 1 + place, word, 1.0) for place, word in enumerate(("bad", "dull"))])
        meter.add(batch, spoken, torch.tensor([0]))
        assert meter.result() == [WordWeight("unwatchable", 1.0, "a")]

    def test_a_token_that_came_from_two_places_is_shared_out(self) -> None:
        batch = read("good film")
        parts = Parts(torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([0.25, 0.75]))
        spoken = SparseRows(*(torch.tensor([n]) for n in (0, token("great"), 2)), torch.tensor([4.0]), 1, SIZE, parts)
        meter = WordMeter(["a"], VOCABULARY)
        meter.add(batch, spoken, torch.tensor([0]))
        assert {word.word: word.share for word in meter.result()} == {"film": 0.75, "good": 0.25}

    def test_a_word_that_speaks_for_many_classes_is_of_none(self) -> None:
        batch = read("film", "film", "film")
        meter = WordMeter(["a", "b", "c"], VOCABULARY)
        meter.add(batch, said_at(batch, *[(text, 1, "film", 1.0) for text in range(3)]), torch.tensor([0, 1, 2]))
        assert meter.result() == [WordWeight("film", 1.0, None)]

    def test_light_words_are_left_out_but_never_the_first(self) -> None:
        texts = [f"{word}" for word in ("good", "bad", "film")]
        batch = read(*texts)
        meter = WordMeter(["a"], VOCABULARY)
        spoken = said_at(batch, (0, 1, "good", 99.0), (1, 1, "bad", 1.0), (2, 1, "film", 0.0))
        meter.add(batch, spoken, torch.tensor([0, 0, 0]))
        assert [word.word for word in meter.result()] == ["good"]
        assert WordMeter(["a"], VOCABULARY).result() == []


class TestArtefacts:
    def kinds(self, texts: list[str], *words: str, tokens: list[str] = []) -> dict[str, str]:  # noqa: B006
        weights, of_tokens = ([WordWeight(word, 0.1, "a") for word in each] for each in (words, tokens))
        return {one.word: one.kind for one in artefacts(weights, texts, of_tokens, VOCABULARY)}

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("<user> you are great", "user"),
            ("It was long.<br /><br />And dull", "br"),
            ("fish &amp; chips", "amp"),
            ("[removed] by hand", "removed"),
            ("Dear {name}, hello", "name"),
            ("see https://t.co/AbC now", "https"),
            ("see http : / / bit.ly/x now", "bit"),
            ("@United never again", "united"),
            ("-LRB- sic -RRB- he said", "lrb"),
            ("RT this", "rt"),
        ],
    )
    def test_remains_of_markup(self, text: str, word: str) -> None:
        assert self.kinds([text, "a film", "a plot"], word) == {word: "markup"}

    def test_a_word_is_judged_by_most_of_its_places(self) -> None:
        """A user is somebody; a placeholder is not."""
        assert self.kinds(["<user> hi", "the user cannot log in", "user error", "5 < 6 users"], "user") == {}
        assert self.kinds(["<USER> hi", "<user> yo", "the user cannot log in"], "user") == {"user": "markup"}

    def test_what_says_nothing(self) -> None:
        texts = ["the year 1999 , x", "bad !"]
        found = self.kinds(texts, "the", "1999", ",", "x", "[sep]", "not", "t", "film")
        assert found == {
            "the": "a stop word",
            "1999": "a number",
            ",": "punctuation",
            "x": "a single letter",
            "[sep]": "a sign of the tokenizer",
        }

    def test_a_token_is_judged_by_its_name(self) -> None:
        """It need not stand in the texts, and where it does, that says nothing of the token."""
        tokens = ["the", "[unused0]", "not", "Film", "user", "www"]
        found = {"the": "a stop word", "[unused0]": "a sign of the tokenizer", "www": "markup"}
        assert self.kinds(["<user> hi"], tokens=tokens) == found

    def test_the_heaviest_comes_first_and_none_twice(self) -> None:
        words, tokens = [WordWeight("br", 0.1, "a")], [WordWeight("br", 0.4, "a"), WordWeight(",", 0.2, None)]
        assert [(one.word, one.share) for one in artefacts(words, [], tokens, VOCABULARY)] == [(",", 0.2), ("br", 0.1)]

    def test_a_sign_of_another_script_may_be_a_word(self) -> None:
        assert self.kinds(["好 戏", "一般"], "好") == {}

    def test_a_word_that_stands_in_nearly_all_texts(self) -> None:
        texts = [f"review : number {number} is good" for number in range(30)]
        assert self.kinds([*texts, "bad"], "review") == {"review": "in 97 % of the texts"}
        assert self.kinds([*texts[:15], *["bad film"] * 15], "review") == {}
        assert self.kinds(texts[:5], "review") == {}  # too few to tell
