from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from splade.data import EncodedTexts, LengthBucketedBatches, batching, collate, encode_texts
from tests.builders import TokenizerKind, build_tokenizer, toy_reviews

lengths_lists = st.lists(st.integers(1, 60), min_size=1, max_size=400)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_ids_are_those_of_the_tokenizer(kind: TokenizerKind) -> None:
    tokenizer = build_tokenizer(kind)
    texts = [*toy_reviews(5)[0], "", "an unheard-of wörd"]
    encoded = encode_texts(texts, tokenizer, max_length=64)
    assert len(encoded) == len(texts)
    assert [encoded[row].tolist() for row in range(len(texts))] == tokenizer(texts)["input_ids"]
    assert encoded.lengths.tolist() == [len(ids) for ids in tokenizer(texts)["input_ids"]]
    assert encoded.truncated == 0
    assert encoded.words == sum(len(text.split()) for text in texts)


def test_long_texts_are_cut_and_counted() -> None:
    tokenizer = build_tokenizer()
    encoded = encode_texts(["good " * 50, "good movie", "good " * 6], tokenizer, max_length=8)
    assert encoded.lengths.tolist() == [8, 4, 8]
    assert encoded.truncated == 1  # six words and two special tokens just fit
    assert encoded.words == 6 + 2 + 6  # only words that were kept
    assert encoded[0][-1] == tokenizer.sep_token_id


def test_texts_go_through_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, _ = toy_reviews(11)
    whole = encode_texts(texts, build_tokenizer(), 32)
    monkeypatch.setattr(batching, "CHUNK", 3)
    parts = encode_texts(texts, build_tokenizer(), 32)
    assert np.array_equal(whole.ids, parts.ids) and np.array_equal(whole.offsets, parts.offsets)


def test_no_texts() -> None:
    encoded = encode_texts([], build_tokenizer(), 8)
    assert len(encoded) == 0 and encoded.words == 0


@given(lengths_lists, st.integers(1, 40), st.booleans(), st.integers(0, 3))
def test_every_row_once_an_epoch(lengths: list[int], batch_size: int, shuffle: bool, epoch: int) -> None:
    batches = LengthBucketedBatches(np.array(lengths), batch_size, seed=1, shuffle=shuffle)
    rows = [batch.tolist() for batch in batches.epoch(epoch)]
    assert sorted(row for batch in rows for row in batch) == list(range(len(lengths)))
    assert len(rows) == len(batches)
    assert sorted(len(batch) for batch in rows)[1:] == [batch_size] * (len(rows) - 1)


def test_epochs_differ_and_repeat() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 1000)

    def order(seed: int, epoch: int) -> list[int]:
        return np.concatenate(LengthBucketedBatches(lengths, 8, seed).epoch(epoch)).tolist()

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1) and order(1, 0) != order(2, 0)


def test_buckets_save_padding_and_leave_the_order_random() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 5000)
    batches = LengthBucketedBatches(lengths, 32, seed=0).epoch(0)
    padded = sum(int(lengths[batch].max()) * len(batch) for batch in batches)
    assert padded < 1.1 * lengths.sum()  # batches in random order would pad to nearly twice
    means = np.array([lengths[batch].mean() for batch in batches])
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.25


def test_unshuffled_rows_go_from_long_to_short() -> None:
    batches = LengthBucketedBatches(np.array([3, 9, 9, 1]), 2, seed=0, shuffle=False).epoch(5)
    assert [batch.tolist() for batch in batches] == [[1, 2], [0, 3]]


def test_collate_pads_to_the_longest_of_the_batch_only() -> None:
    encoded = EncodedTexts(np.arange(10, 20, dtype=np.int32), np.array([0, 2, 5, 10]), truncated=0, words=0)
    input_ids, attention_mask = collate(encoded, [1, 0], pad_id=0)
    assert input_ids.tolist() == [[12, 13, 14], [10, 11, 0]]
    assert attention_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert input_ids.dtype == attention_mask.dtype == torch.long


def test_collate_of_no_rows_is_empty() -> None:
    encoded = EncodedTexts(np.arange(2, dtype=np.int32), np.array([0, 2]), truncated=0, words=0)
    input_ids, attention_mask = collate(encoded, np.array([], dtype=np.int64), pad_id=0)
    assert input_ids.shape == attention_mask.shape == (0, 0)
