"""Which other words moved the decision at a word: an estimate, beside the exact scores over vocabulary tokens.

A tagger's logit at a word is exactly a sum of vocabulary tokens that fired there. Which words of the sentence made them
fire is a question about the backbone, which no sum answers; what is here hides each word in turn and looks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from splade.data.batching import collate
from splade.data.words import encode_words
from splade.errors import DataError, ModelError
from splade.models.lexical_sae import LexicalSAE

BATCH = 32
"""Sentences with a hidden word read at a time."""


@dataclass(frozen=True)
class ContextEstimate:
    """How the logit of one tag at one word changes when another word is hidden. An estimate: words that stand in for
    one another hide each other's part, and the changes do not add up to the logit."""

    word: int
    """The word decided on, by its number in the sentence."""
    tag: str
    logit: float
    change: list[float]
    """Of each word of the sentence: the logit less the logit without it; above 0: it spoke for the tag. 0 at the word
    itself, and at words that another window decides."""


@torch.no_grad()
def estimate_context(model: LexicalSAE, sentence: Sequence[str], word: int, tag: str) -> ContextEstimate:
    """Occlusion: every other word of the word's window is replaced by mask tokens, one at a time."""
    tokenizer = model.tokenizer
    if tokenizer.mask_token_id is None:
        raise ModelError("The tokenizer has no mask token to hide words behind; context cannot be estimated.")
    if not 0 <= word < len(sentence):
        raise DataError(f"The sentence has {len(sentence)} words, and word number {word} was asked for; count from 0.")
    if tag not in model.labels:
        raise ModelError(f"The model has no tag '{tag}'; its tags are: {', '.join(model.labels)}.")
    encoded = encode_words([sentence], tokenizer, model.max_length)
    window = int(np.searchsorted(encoded.offsets, np.flatnonzero(encoded.word == word)[0], side="right")) - 1
    ids, mask = collate(encoded, [window], tokenizer.pad_token_id or 0)  # (1, L)
    of_word = torch.from_numpy(encoded.word[encoded.offsets[window] : encoded.offsets[window + 1]].astype(np.int64))
    others = [number for number in of_word.unique().tolist() if number not in (-1, word)]
    shown = [ids[0], *(torch.where(of_word == number, tokenizer.mask_token_id, ids[0]) for number in others)]
    logits = []
    for start in range(0, len(shown), BATCH):
        part = torch.stack(shown[start : start + BATCH]).to(model.device)  # (b, L)
        row = torch.arange(len(part))[:, None]
        asked = torch.where(of_word == word, row, -1).to(model.device)  # (b, L): one row a sentence
        state = model.tag(model(part, mask.to(model.device).expand_as(part)), asked)
        logits += state.logits[:, model.labels.index(tag)].tolist()
    change = [0.0] * len(sentence)
    for number, without in zip(others, logits[1:], strict=True):
        change[number] = logits[0] - without
    return ContextEstimate(word, tag, logits[0], change)
