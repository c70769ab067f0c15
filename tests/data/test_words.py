from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.data import words as module
from splade.data.words import EncodedWords, encode_words, word_windows
from splade.errors import BackboneError
from tests.builders import TokenizerKind, build_tokenizer

TOKENIZERS = {kind: build_tokenizer(kind) for kind in ("wordpiece", "bpe", "unigram")}
KINDS: list[TokenizerKind] = ["wordpiece", "bpe", "unigram"]

# Whole words, words in pieces, words of nothing but what a tokenizer drops, words with a space in them.
some_words = st.sampled_from(
    ["good", "movie", "the", "unwatchable", "zyxwvutsrq", "\u200b", "", "new york", "é", "a,b"]
)
some_sentences = st.lists(st.lists(some_words, max_size=30), max_size=6)


def decided(encoded: EncodedWords) -> list[tuple[int, int]]:
    """(sentence, word) of every piece that decides one."""
    window = np.repeat(np.arange(len(encoded)), encoded.lengths)
    return [(int(encoded.sentence[window[place]]), int(encoded.word[place])) for place in np.flatnonzero(encoded.first)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_sentence_is_the_text_of_its_words(kind: TokenizerKind) -> None:
    tokenizer = TOKENIZERS[kind]
    sentence = ["the", "good", "unwatchable", "movie", "!"]
    encoded = encode_words([sentence], tokenizer, 64)
    assert encoded[0].tolist() == tokenizer(" ".join(sentence))["input_ids"]
    assert (len(encoded), encoded.words, encoded.truncated) == (1, 5, 0)
    assert encoded.word[0] == encoded.word[-1] == -1  # special tokens
    assert np.unique(encoded.word[1:-1]).tolist() == [0, 1, 2, 3, 4] and (np.diff(encoded.word[1:-1]) >= 0).all()
    for number, word in enumerate(sentence):
        pieces = tokenizer.decode(encoded.ids[encoded.word == number]).replace(" ", "")
        assert pieces == word
    assert encoded.first.sum() == 5


@pytest.mark.parametrize("kind", KINDS)
@given(sentences=some_sentences, max_length=st.integers(3, 40), overlap=st.integers(0, 45))
@settings(max_examples=60, deadline=None)
def test_every_word_is_decided_once(
    kind: TokenizerKind, sentences: list[list[str]], max_length: int, overlap: int
) -> None:
    tokenizer = TOKENIZERS[kind]
    encoded = encode_words(sentences, tokenizer, max_length, overlap)
    every = [(number, word) for number, sentence in enumerate(sentences) for word in range(len(sentence))]
    assert sorted(decided(encoded)) == every
    assert all(len(encoded[window]) <= max_length for window in range(len(encoded)))
    starts, ends = encoded.ids[encoded.offsets[:-1]], encoded.ids[encoded.offsets[1:] - 1]
    assert set(starts.tolist()) <= {tokenizer.cls_token_id} and set(ends.tolist()) <= {tokenizer.sep_token_id}
    assert encoded.words == len(every)
    shown = encoded.shown >= 0  # what is decided is shown, by the same number
    assert (encoded.shown[encoded.word >= 0] == encoded.word[encoded.word >= 0]).all()
    assert all((np.diff(numbers[numbers >= 0]) >= 0).all() for numbers in map(encoded.words_of, range(len(encoded))))
    assert shown.sum() == len(encoded.ids) - 2 * len(encoded)  # all but the special tokens
    assert np.logical_or.reduceat(encoded.first, encoded.offsets[:-1]).all() if len(encoded) else not every
    assert encoded.sentence.tolist() == sorted(encoded.sentence.tolist())


@given(
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=60),
    room=st.integers(8, 30),
    overlap=st.integers(0, 40),
)
def test_windows_cover_fit_and_give_the_most_context(sizes: list[int], room: int, overlap: int) -> None:
    pieces = np.concatenate([[0], np.cumsum(sizes)])
    words = len(sizes)
    parts = module._cut(pieces, room, overlap) if pieces[-1] > room else [(0, words)]
    assert parts[0][0] == 0 and parts[-1][1] == words
    for (start, end), (following, far) in pairwise(parts):
        assert start < following <= end < far  # in order, no gap, something new in each
        if far < words:
            assert pieces[end] - pieces[following] <= overlap
    assert all(pieces[end] - pieces[start] <= room for start, end in parts)

    def distance(word: int, part: tuple[int, int]) -> float:
        start, end = part
        left = pieces[word] - pieces[start] if start else np.inf
        right = pieces[end] - pieces[word + 1] if end < words else np.inf
        return min(left, right)

    for word, chosen in enumerate(module._deciders(parts, pieces)):
        around = [distance(word, part) for part in parts if part[0] <= word < part[1]]
        assert parts[chosen][0] <= word < parts[chosen][1]
        assert distance(word, parts[chosen]) == max(around)


def test_windows_of_one_piece_words() -> None:
    sentence = ["good", "movie"] * 6
    encoded = encode_words([["the"], sentence], TOKENIZERS["wordpiece"], max_length=8, overlap=3)
    assert encoded.sentence.tolist() == [0, 1, 1, 1]
    assert encoded.lengths.tolist() == [3, 8, 8, 8]
    shown = [encoded.word[encoded.offsets[window] : encoded.offsets[window + 1]].tolist() for window in range(1, 4)]
    # Words 0-5, 3-8 and 6-11, each between two special tokens; what is near a cut is left to a neighbour.
    assert shown == [
        [-1, 0, 1, 2, 3, 4, -1, -1],
        [-1, -1, -1, 5, 6, 7, -1, -1],
        [-1, -1, -1, 8, 9, 10, 11, -1],
    ]
    assert np.array_equal(encoded.first, encoded.word >= 0)  # every word is one piece


def test_a_window_that_would_decide_nothing_is_left_out() -> None:
    """Words 0-5, 3-8 and 4-9: what the second shows, the first or the third shows with more context."""
    pieces, room, overlap = np.cumsum([0, 1, 3, 5, 1, 6, 1, 2, 1, 2, 6]), 18, 9
    parts = module._cut(pieces, room, overlap)
    assert len(set(module._deciders(parts, pieces).tolist())) < len(parts)
    windows, owner = module._windows(np.array([0, len(pieces) - 1]), pieces, room, overlap)
    assert len(windows.sentence) < len(parts) and np.unique(owner).tolist() == list(range(len(windows.sentence)))
    word = np.arange(len(owner))
    assert (windows.start[owner] <= word).all() and (word < windows.end[owner]).all()


def test_a_word_of_nothing_gets_the_unknown_token() -> None:
    tokenizer = TOKENIZERS["wordpiece"]
    encoded = encode_words([["good", "\u200b", "movie"], ["", ""]], tokenizer, 16)
    good, movie = tokenizer.convert_tokens_to_ids(["good", "movie"])
    assert encoded[0].tolist()[1:-1] == [good, tokenizer.unk_token_id, movie]
    assert encoded[1].tolist()[1:-1] == [tokenizer.unk_token_id] * 2


def test_a_word_longer_than_the_limit_is_cut_and_counted() -> None:
    encoded = encode_words([["good", "z" * 50, "movie"], ["bad"]], TOKENIZERS["wordpiece"], max_length=10)
    assert encoded.truncated == 1
    assert sorted(decided(encoded)) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert (encoded.word == 1).sum() == 8


def test_sentences_without_words_have_no_window() -> None:
    encoded = encode_words([[], ["good"], []], TOKENIZERS["bpe"], 16)
    assert encoded.sentence.tolist() == [1] and len(encoded) == 1
    assert len(encode_words([], TOKENIZERS["bpe"], 16)) == 0 == len(encode_words([[]], TOKENIZERS["bpe"], 16))


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [["good", "movie"] * (1 + number % 9) + ["unwatchable"] for number in range(11)] + [[]]
    whole = encode_words(sentences, TOKENIZERS["unigram"], 12, 4)
    monkeypatch.setattr(module, "CHUNK", 3)
    parts = encode_words(sentences, TOKENIZERS["unigram"], 12, 4)
    for name in ("ids", "offsets", "sentence", "word", "first"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name


def test_a_slow_tokenizer_is_refused() -> None:
    slow = SimpleNamespace(is_fast=False)
    with pytest.raises(BackboneError, match=r"is a slow one, .* tagging needs a backbone with a fast tokenizer\.$"):
        encode_words([["good"]], slow, 16)  # type: ignore[arg-type]


@given(words=st.lists(some_words, min_size=1, max_size=60), max_length=st.integers(4, 40))
@settings(max_examples=40, deadline=None)
def test_windows_by_numbers_of_words_are_those_that_are_encoded(words: list[str], max_length: int) -> None:
    tokenizer = TOKENIZERS["wordpiece"]
    windows = word_windows(words, tokenizer, max_length)
    encoded = encode_words([words], tokenizer, max_length)
    assert len(windows) == len(encoded)
    for number, window in enumerate(windows):
        word = encoded.word[encoded.offsets[number] : encoded.offsets[number + 1]]
        assert np.unique(word[word >= 0]).tolist() == list(range(window.first, window.last))
        assert window.start <= window.first < window.last <= window.end
    assert [window.first for window in windows] == [0, *(window.last for window in windows[:-1])]
    assert windows[-1].last == len(words)
