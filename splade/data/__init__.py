"""Texts and labels, words and tags: found (``loader``), split (``splits``), tokenised (``batching``, ``words``)."""

from __future__ import annotations

from splade.data.batching import EncodedTexts, LengthBucketedBatches, collate, encode_texts
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TaggedSplit, TextSplit, dataset_fingerprint
from splade.data.words import EncodedWords, encode_words

__all__ = [
    "Dataset",
    "EncodedTexts",
    "EncodedWords",
    "LengthBucketedBatches",
    "TaggedSplit",
    "TextSplit",
    "collate",
    "dataset_fingerprint",
    "encode_texts",
    "encode_words",
    "load_dataset",
]
