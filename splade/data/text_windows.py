"""Long texts in parts: windows of whole words that train as texts of their own, each with the label of its text."""

from __future__ import annotations

from dataclasses import replace

from transformers import PreTrainedTokenizerBase

from splade.data.types import TextSplit
from splade.data.words import word_windows

FIRST_WORD = 2
"""Tokens kept free in a window: at the beginning of a text, with no space before it, a word may have more pieces."""


def divide_texts(split: TextSplit, tokenizer: PreTrainedTokenizerBase, max_length: int) -> TextSplit:
    """The split with every text of more than `max_length` tokens as several, all full but for some tokens: the last
    goes back as far as it can. Other columns of the source go with whole texts and are dropped."""
    texts, labels, divided = [], [], 0
    for text, label in zip(split.texts, split.labels, strict=True):
        parts = _parts(text, tokenizer, max_length)
        divided += len(parts) > 1
        texts += parts
        labels += [label] * len(parts)
    if not divided:
        return split
    return replace(split, texts=texts, labels=labels, extra={})


def _parts(text: str, tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[str]:
    if len(tokenizer(text, verbose=False)["input_ids"]) <= max_length:
        return [text]
    words = text.split()
    windows = word_windows(words, tokenizer, max_length - FIRST_WORD, overlap=0)
    return [" ".join(words[window.start : window.end]) for window in windows]
