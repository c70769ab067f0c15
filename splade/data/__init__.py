"""Texts and labels: found (``loader``), split (``splits``), tokenised and batched (``batching``)."""

from __future__ import annotations

from splade.data.batching import EncodedTexts, LengthBucketedBatches, collate, encode_texts
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TextSplit, dataset_fingerprint

__all__ = [
    "Dataset",
    "EncodedTexts",
    "LengthBucketedBatches",
    "TextSplit",
    "collate",
    "dataset_fingerprint",
    "encode_texts",
    "load_dataset",
]
