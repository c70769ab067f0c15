"""Sentences of words tokenised for tagging: long ones in overlapping windows, every word decided by exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from splade.data.batching import CHUNK, EncodedTexts
from splade.errors import BackboneError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OVERLAP = 32  # pieces two windows share: some 25 words, so a dozen on either side of where the next takes over


@dataclass(frozen=True)
class EncodedWords(EncodedTexts):
    """Windows end to end; a window is a sentence, or a part of one that is longer than the limit.

    ``truncated`` counts the words in ``cut``.
    """

    sentence: np.ndarray
    """(W,) which sentence each window is of."""
    word: np.ndarray
    """(len(ids),) number within its sentence of the word a piece belongs to; -1: a special token, or context that
    another window decides."""
    shown: np.ndarray
    """(len(ids),) the same, with the words that another window decides."""
    first: np.ndarray
    """(len(ids),) whether this is the first piece of a word that this window decides."""
    cut: np.ndarray
    """Numbers, over all sentences end to end, of the words that alone were longer than the limit."""

    def words_of(self, row: int) -> np.ndarray:
        return self.shown[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class WordWindow:
    """A part of a sentence, by numbers of words: it shows those from ``start`` to ``end``, and decides ``first`` to
    ``last``, the others being context; the words after the last are one further, as in slices."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True)
class _Windows:
    """Which words (``start`` to ``end``) of which sentence each window shows."""

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray


def encode_words(
    sentences: Sequence[Sequence[str]],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    overlap: int = OVERLAP,
) -> EncodedWords:
    """Tokenise sentences given as words into windows of at most ``max_length`` tokens.

    Windows are cut between words and share up to ``overlap`` pieces, at most half of what they hold. A word that
    several windows show is decided by the one in which it is farthest from a cut (the ends of the sentence are none).
    A sentence without words has no window, and every window decides some word.
    """
    if not tokenizer.is_fast:
        raise BackboneError(
            f"The tokenizer {type(tokenizer).__name__} is a slow one, which cannot tell the words of its pieces; "
            "tagging needs a backbone with a fast tokenizer."
        )
    before, after = _special_tokens(tokenizer)
    room = max_length - len(before) - len(after)
    ids, word_of, cut = _pieces(sentences, tokenizer, room)  # (P,): every word once, numbered over all sentences
    words = np.array([len(sentence) for sentence in sentences], dtype=np.int64)  # (N,)
    first_word = _ends(words)  # (N + 1,)
    piece_of = np.searchsorted(word_of, np.arange(first_word[-1] + 1))  # (words + 1,): where each word's pieces start
    windows, owner = _windows(first_word, piece_of, room, min(overlap, room // 2))

    start, end = piece_of[windows.start], piece_of[windows.end]  # (W,)
    lengths = end - start + len(before) + len(after)
    offsets = _ends(lengths)
    window = np.repeat(np.arange(len(lengths)), end - start)  # (pieces shown,)
    place = np.arange(len(window)) - _ends(end - start)[window]  # number of a piece within its window
    shown, target = start[window] + place, offsets[window] + len(before) + place
    all_ids = np.empty(offsets[-1], dtype=np.int32)
    for number, token in enumerate(before):
        all_ids[offsets[:-1] + number] = token
    for number, token in enumerate(after):
        all_ids[offsets[1:] - len(after) + number] = token
    all_ids[target] = ids[shown]
    decides = owner[word_of[shown]] == window
    of_sentence = np.full(len(all_ids), -1, dtype=np.int32)
    of_sentence[target] = word_of[shown] - first_word[windows.sentence[window]]
    word = np.full_like(of_sentence, -1)
    word[target] = np.where(decides, of_sentence[target], -1)
    first = np.zeros(len(all_ids), dtype=bool)
    first[target] = decides & (piece_of[word_of[shown]] == shown)
    return EncodedWords(all_ids, offsets, len(cut), int(words.sum()), windows.sentence, word, of_sentence, first, cut)


def word_windows(
    words: Sequence[str], tokenizer: PreTrainedTokenizerBase, max_length: int, overlap: int = OVERLAP
) -> list[WordWindow]:
    """The windows of at most ``max_length`` tokens that ``encode_words`` cuts a sentence into, for whoever reads each
    as a text of its own."""
    before, after = _special_tokens(tokenizer)
    room = max_length - len(before) - len(after)
    _, word_of, _ = _pieces([words], tokenizer, room)
    piece_of = np.searchsorted(word_of, np.arange(len(words) + 1))
    windows, owner = _windows(np.array([0, len(words)]), piece_of, room, min(overlap, room // 2))
    decided = [np.flatnonzero(owner == number) for number in range(len(windows.start))]
    return [
        WordWindow(int(start), int(end), int(own[0]), int(own[-1]) + 1)
        for start, end, own in zip(windows.start, windows.end, decided, strict=True)
    ]


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """The ids a tokenizer puts before and after every text."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
    of_text = [place for place, is_special in enumerate(special) if not is_special]
    return ids[: of_text[0]], ids[of_text[-1] + 1 :]


def _pieces(
    sentences: Sequence[Sequence[str]], tokenizer: PreTrainedTokenizerBase, room: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids of all words' pieces, the word of each (ascending, none left out), and the words that were cut to ``room``.

    The words are tokenised as the text they make when joined by spaces, since byte-level and SentencePiece tokenizers
    have pieces of their own for what follows a space. A piece belongs to the word of its last character; a piece that
    is only the space belongs to the word after it.
    """
    ids: list[np.ndarray] = [np.zeros(0, dtype=np.int32)]
    word_of: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    done = 0
    for start in range(0, len(sentences), CHUNK):
        chunk = [list(sentence) for sentence in sentences[start : start + CHUNK]]
        texts = [" ".join(words) for words in chunk]
        encodings = tokenizer(texts, add_special_tokens=False, verbose=False).encodings or []
        counts = [len(encoding.ids) for encoding in encodings]
        spans = np.array([span for encoding in encodings for span in encoding.offsets], dtype=np.int64).reshape(-1, 2)
        word_lengths = np.array([len(word) + 1 for words in chunk for word in words], dtype=np.int64)
        word_ends = np.cumsum(word_lengths) - 1  # where the space after each word stands, all sentences end to end
        text_starts = _ends(np.array([len(text) + bool(words) for text, words in zip(texts, chunk, strict=True)]))
        last = np.maximum(spans[:, 0], spans[:, 1] - 1) + np.repeat(text_starts[:-1], counts)
        ids.append(np.array([token for encoding in encodings for token in encoding.ids], dtype=np.int32))
        word_of.append(done + np.searchsorted(word_ends, last, side="right"))
        done += len(word_lengths)
    return _complete(np.concatenate(ids), np.concatenate(word_of), done, room, tokenizer.unk_token_id or 0)


def _complete(
    ids: np.ndarray, word_of: np.ndarray, words: int, room: int, unknown: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give words without a piece the unknown token, and cut those with more than ``room`` pieces."""
    counts = np.bincount(word_of, minlength=words)
    bare = np.flatnonzero(counts == 0)
    if len(bare):
        ids = np.concatenate([ids, np.full(len(bare), unknown, dtype=np.int32)])
        word_of = np.concatenate([word_of, bare])
        counts[bare] = 1
    order = np.argsort(word_of, kind="stable")
    ids, word_of = ids[order], word_of[order]
    kept = np.arange(len(ids)) - _ends(counts)[word_of] < room
    return ids[kept], word_of[kept], np.flatnonzero(counts > room)


def _windows(first_word: np.ndarray, piece_of: np.ndarray, room: int, overlap: int) -> tuple[_Windows, np.ndarray]:
    """The windows of all sentences in order, and which of them decides each word."""
    starts: list[int] = []
    ends: list[int] = []
    sentences: list[int] = []
    owner = np.zeros(first_word[-1], dtype=np.int64)
    sizes = piece_of[first_word[1:]] - piece_of[first_word[:-1]]  # (N,) pieces of each sentence
    for number in np.flatnonzero(sizes).tolist():
        low, high = int(first_word[number]), int(first_word[number + 1])
        if sizes[number] <= room:
            parts = [(low, high)]
            owner[low:high] = len(starts)
        else:
            parts = _cut(piece_of[low : high + 1] - piece_of[low], room, overlap)
            # A window is left out if its neighbours show each of its words with more context, so that it decides none.
            busy, decider = np.unique(_deciders(parts, piece_of[low : high + 1] - piece_of[low]), return_inverse=True)
            owner[low:high] = len(starts) + decider
            parts = [(low + parts[number][0], low + parts[number][1]) for number in busy]
        starts += [start for start, _ in parts]
        ends += [end for _, end in parts]
        sentences += [number] * len(parts)
    return _Windows(*(np.array(numbers, dtype=np.int64) for numbers in (sentences, starts, ends))), owner


def _cut(pieces: np.ndarray, room: int, overlap: int) -> list[tuple[int, int]]:
    """Word ranges that cover a sentence whose word ``w`` has the pieces ``pieces[w]`` to ``pieces[w + 1]``.

    Each window is as long as ``room`` allows; the next goes back by up to ``overlap`` pieces, yet has room for at least
    one new word; the last goes back as far as it can.
    """
    words = len(pieces) - 1
    parts: list[tuple[int, int]] = []
    start = 0
    while True:
        end = int(np.searchsorted(pieces, pieces[start] + room, side="right")) - 1  # the last with pieces <= room
        if end == words:
            start = int(np.searchsorted(pieces, pieces[words] - room))
            return [*parts, (start, words)]
        parts.append((start, end))
        start = int(np.searchsorted(pieces, max(pieces[end] - overlap, pieces[end + 1] - room)))


def _deciders(parts: list[tuple[int, int]], pieces: np.ndarray) -> np.ndarray:
    """For each word the number of the window in which it is farthest from a cut; of equals the first."""
    words = len(pieces) - 1
    farthest = np.full(words, -1, dtype=np.int64)
    chosen = np.zeros(words, dtype=np.int64)
    for number, (start, end) in enumerate(parts):
        uncut = np.full(end - start, pieces[-1])  # farther than any cut can be
        left = pieces[start:end] - pieces[start] if start > 0 else uncut
        right = pieces[end] - pieces[start + 1 : end + 1] if end < words else uncut
        distance = np.minimum(left, right)
        better = distance > farthest[start:end]
        farthest[start:end][better] = distance[better]
        chosen[start:end][better] = number
    return chosen
