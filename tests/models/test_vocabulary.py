"""What a vocabulary's tokens are, over the three ways of marking words."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from splade.data.stop_words import NEGATIONS, STOP_WORDS
from splade.errors import BackboneError
from splade.models.backbone import Backbone
from splade.models.vocabulary import BLANK, Vocabulary
from tests.builders import NEGATIVE, POSITIVE, WORDS, TokenizerKind, build_tokenizer

KINDS: list[TokenizerKind] = ["wordpiece", "bpe", "unigram"]
TOKENIZERS = {kind: build_tokenizer(kind) for kind in KINDS}
VOCABULARIES = {kind: Vocabulary.from_tokenizer(TOKENIZERS[kind], len(TOKENIZERS[kind])) for kind in KINDS}
MARK = {"wordpiece": "", "bpe": "Ġ", "unigram": "▁"}


def index(kind: TokenizerKind, piece: str) -> int:
    return VOCABULARIES[kind].pieces.index(piece)


def grouped(kind: TokenizerKind, text: str) -> list[str]:
    """The words that ``word_groups`` finds, written out."""
    tokenizer, vocabulary = TOKENIZERS[kind], VOCABULARIES[kind]
    batch = tokenizer([text, "a " * 40], return_tensors="pt", padding=True)
    groups = vocabulary.word_groups(batch["input_ids"], batch["attention_mask"])[0]
    words: dict[int, str] = {}
    for token, group in zip(batch["input_ids"][0].tolist(), groups.tolist(), strict=True):
        if group >= 0:
            words[group] = words.get(group, "") + vocabulary.names[token].strip("␣")
    assert list(words) == list(range(len(words)))  # numbered in order, without gaps
    return list(words.values())


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_words_are_named_without_marks(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        assert vocabulary.marker == {"wordpiece": "##", "bpe": "Ġ", "unigram": "▁"}[kind]
        for word in WORDS:
            assert vocabulary.names[index(kind, MARK[kind] + word)] == word

    def test_sentiment_words_are_whole_and_not_stop_words(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        for word in [*POSITIVE, *NEGATIVE]:
            position = index(kind, MARK[kind] + word)
            assert vocabulary.whole_word[position] and vocabulary.starts_word[position]
            assert not vocabulary.stop[position] and not vocabulary.special[position]

    def test_stop_words_but_no_negations(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        stop = {vocabulary.names[i].lower() for i in vocabulary.stop.nonzero().flatten()}
        assert {"the", "is", "of", "with", "does", ".", "!", "7", "x"} <= stop
        assert stop.isdisjoint({"no", "not", "never", "nor", "without", "nothing", "don", "serious", "interest", "too"})

    def test_special_tokens_are_nothing_else(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        assert set(TOKENIZERS[kind].all_special_ids) <= set(vocabulary.special.nonzero().flatten().tolist())
        for mask in (vocabulary.starts_word, vocabulary.wordlike, vocabulary.whole_word, vocabulary.stop):
            assert mask.shape == vocabulary.special.shape == (len(vocabulary),)
            assert not (mask & vocabulary.special).any()
        assert not (vocabulary.whole_word & ~vocabulary.wordlike).any()

    def test_rows_beyond_the_tokenizer_are_special(self, kind: TokenizerKind) -> None:
        size = len(TOKENIZERS[kind])
        padded = Vocabulary.from_tokenizer(TOKENIZERS[kind], size + 2)
        assert padded.names[size:] == ["[padding 0]", "[padding 1]"]
        assert padded.special[size:].all()
        assert torch.equal(padded.stop[:size], VOCABULARIES[kind].stop)

    def test_fewer_rows_than_tokens_is_an_error(self, kind: TokenizerKind) -> None:
        with pytest.raises(BackboneError, match="only 10 embeddings"):
            Vocabulary.from_tokenizer(TOKENIZERS[kind], 10)

    def test_split_words_stay_together_and_punctuation_apart(self, kind: TokenizerKind) -> None:
        assert grouped(kind, "an unwatchable movie.") == ["an", "unwatchable", "movie", "."]
        assert grouped(kind, "unwatchable") == ["unwatchable"]
        assert grouped(kind, "good , bad!") == ["good", ",", "bad", "!"]
        assert grouped(kind, "") == []

    def test_match_ignores_case_and_wants_the_whole_word(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        assert index(kind, MARK[kind] + "good") in vocabulary.match(" GOOD ")
        assert {vocabulary.names[i].lower() for i in vocabulary.match("Good")} == {"good"}
        assert vocabulary.match("unwatchable") == []  # it is split
        assert vocabulary.match(TOKENIZERS[kind].cls_token) == []
        assert vocabulary.match("") == []

    def test_split_words_are_named_by_their_pieces(self, kind: TokenizerKind) -> None:
        vocabulary, tokenizer = VOCABULARIES[kind], TOKENIZERS[kind]
        for word in ("unwatchable", "goodly", "zzzing"):
            for text in (word, f" {word}"):
                assert vocabulary.name_of(tokenizer(text, add_special_tokens=False)["input_ids"]) == word
        assert vocabulary.name_of([]) == BLANK

    def test_content_is_whole_words_that_mean_something(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        content = vocabulary.content.tolist()
        assert content == sorted(set(content))
        assert {index(kind, MARK[kind] + word) for word in [*POSITIVE, *NEGATIVE, "not", "never"]} <= set(content)
        for word in ("the", "it", "is"):
            assert index(kind, MARK[kind] + word) not in content
        assert not any(vocabulary.special[content]) and all(vocabulary.whole_word[content])

    def test_room_for_split_words_comes_after_the_tokens(self, kind: TokenizerKind) -> None:
        tokens = VOCABULARIES[kind]
        grown = tokens.with_words(5, 3)
        size = len(tokens)
        assert (len(grown), grown.tokens, grown.free, tokens.free, tokens.tokens) == (size + 5, size, 3, 0, size)
        assert grown.names == [*tokens.names, *[""] * 5] and grown.pieces[size:] == [""] * 5
        for name, value in (("special", 0), ("whole_word", 0), ("stop", 0), ("starts_word", 1), ("wordlike", 1)):
            mask = getattr(grown, name)
            assert torch.equal(mask[:size], getattr(tokens, name)) and mask[size:].tolist() == [bool(value)] * 5
        assert torch.equal(grown.content, tokens.content)
        assert torch.equal(grown.speaker[:size], tokens.speaker)
        assert grown.base.tolist() == list(range(size + 5))
        [good] = [token for token in tokens.match("good") if tokens.pieces[token] == MARK[kind] + "good"]
        with_senses = grown.with_senses([good], 3)
        assert with_senses.names[size + 5 :] == ["good#2", "good#3"] and with_senses.tokens == size
        assert with_senses.sense_of == {size + 5: good, size + 6: good}

    def test_the_name_of_a_split_word_makes_it_no_token(self, kind: TokenizerKind) -> None:
        """Whether or not it was named before somebody asked."""
        for named_first in (True, False):
            grown = VOCABULARIES[kind].with_words(2, 1)
            if not named_first:
                assert grown.match("unwatchable") == [] and grown.speaker is not None
            grown.names[-2:] = ["unwatchable", "ing"]
            assert grown.match("unwatchable") == [] and grown.match("good") == VOCABULARIES[kind].match("good")
            assert torch.equal(grown.speaker[:-2], VOCABULARIES[kind].speaker)

    def test_a_word_of_one_token_has_a_speaker(self, kind: TokenizerKind) -> None:
        vocabulary = VOCABULARIES[kind]
        speaker = vocabulary.speaker
        own = torch.arange(len(vocabulary))
        begins = vocabulary.starts_word & ~vocabulary.special
        assert torch.equal(speaker[begins], own[begins]) and torch.equal(
            speaker[~vocabulary.wordlike], own[~vocabulary.wordlike]
        )
        for token in (~begins & vocabulary.wordlike).nonzero().flatten().tolist():
            if speaker[token] >= 0:
                assert begins[speaker[token]] and vocabulary.names[speaker[token]] == vocabulary.names[token]
            else:
                assert not any(
                    vocabulary.names[t] == vocabulary.names[token] for t in begins.nonzero().flatten().tolist()
                )

    @given(words=st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12), max_size=12))
    def test_lower_case_words_are_found_again(self, kind: TokenizerKind, words: list[str]) -> None:
        assert grouped(kind, " ".join(words)) == words


def test_fragments_do_not_match() -> None:
    assert VOCABULARIES["wordpiece"].match("ing") == []
    assert VOCABULARIES["unigram"].match("ing") == []
    # "watch" is a word and, in pieces, the middle of another: only the word matches.
    assert VOCABULARIES["wordpiece"].match("watch") == [index("wordpiece", "watch")]


def test_byte_level_words_at_the_start_of_a_text() -> None:
    vocabulary = VOCABULARIES["bpe"]
    assert {vocabulary.pieces[i] for i in vocabulary.match("good")} == {"good", "Good", "Ġgood", "ĠGood"}
    assert vocabulary.whole_word[index("bpe", "ĠGood")] and not vocabulary.whole_word[index("bpe", "good")]
    assert vocabulary.stop[index("bpe", "The")]
    assert grouped("bpe", "Good movie") == ["Good", "movie"]


def test_bytes_are_read_as_characters() -> None:
    vocabulary = VOCABULARIES["bpe"]
    assert vocabulary.names[index("bpe", "ĠcafÃ©")] == "café"
    assert vocabulary.match("Café") == [index("bpe", "ĠcafÃ©")]
    newline = index("bpe", "Ċ")
    assert vocabulary.names[newline] == "␣" and not vocabulary.wordlike[newline] and vocabulary.stop[newline]


def test_normaliser_is_used_for_matching() -> None:
    vocabulary = VOCABULARIES["wordpiece"]  # drops accents
    assert vocabulary.match("móvie") == vocabulary.match("movie") != []


def test_negated_endings_are_kept() -> None:
    wordpiece, bpe = VOCABULARIES["wordpiece"], VOCABULARIES["bpe"]
    assert grouped("wordpiece", "i don't") == ["i", "don", "'", "t"]
    assert not wordpiece.stop[index("wordpiece", "t")] and wordpiece.stop[index("wordpiece", "##t")]
    assert not bpe.stop[index("bpe", "'t")]


def test_unused_slots_and_added_tokens() -> None:
    tokenizer = build_tokenizer("wordpiece")
    tokenizer.add_tokens(["blockchain", "|||EMAIL|||"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<user>"]})
    vocabulary = Vocabulary.from_tokenizer(tokenizer, len(tokenizer))
    special = {vocabulary.pieces[i] for i in vocabulary.special.nonzero().flatten()}
    assert {"[unused0]", "[unused1]", "|||EMAIL|||", "<user>", "[UNK]"} <= special
    assert "blockchain" not in special and len(vocabulary.match("blockchain")) == 1


def test_numbering_starts_again_in_every_text() -> None:
    tokenizer, vocabulary = TOKENIZERS["wordpiece"], VOCABULARIES["wordpiece"]
    batch = tokenizer(["good movie", "unwatchable"], return_tensors="pt", padding=True)
    groups = vocabulary.word_groups(batch["input_ids"], batch["attention_mask"])
    assert groups.tolist() == [[-1, 0, 1, -1, -1], [-1, 0, 0, 0, -1]]


def test_word_lists_are_consistent() -> None:
    assert STOP_WORDS.isdisjoint(NEGATIONS)
    judging = {"serious", "empty", "well", "too", "fire", "system", "full", "enough"}
    asking = {"why", "when", "how", "where", "still", "again", "already", "back", "get", "up"}
    assert STOP_WORDS.isdisjoint(judging | asking)  # words that a model of sentiment, topics or requests lives on


def test_minilm_vocabulary(minilm: tuple[Backbone, PreTrainedTokenizerFast]) -> None:
    backbone, tokenizer = minilm
    vocabulary = Vocabulary.from_tokenizer(tokenizer, backbone.vocab_size)
    assert vocabulary.special.sum() == 999  # 994 unused slots and 5 special tokens
    names = {vocabulary.names[i] for i in vocabulary.whole_word.nonzero().flatten()}
    assert {"charming", "delightful", "chatham", "no"} <= names
    assert names.isdisjoint({"##ing", "th", "1990", "[unused80]", "."})
    assert len(vocabulary.match("Delightful")) == 1
