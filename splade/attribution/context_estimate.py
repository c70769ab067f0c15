"""Which other words moved the decision at a word: an estimate, beside the exact scores over vocabulary tokens.

A tagger's logit at a word is exactly a sum of vocabulary tokens that fired there. Which words of the sentence made them
fire is a question about the backbone, which no sum answers; what is here hides each word in turn and looks again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

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
    change: list[float | None]
    """Of each word of the sentence: the logit less the logit without it; above 0: it spoke for the tag. None where that
    was not measured: at the word itself, and at words that another window decides."""


@torch.no_grad()
def estimate_contexts(
    model: LexicalSAE, sentence: Sequence[str], tags: Mapping[int, str]
) -> dict[int, ContextEstimate]:
    """Occlusion: the words of a window are replaced by mask tokens, one at a time, and all words asked for look again.

    `tags`: which words are asked for, by number, and the tag of each. A forward pass for each word of a window, however
    many are asked for.
    """
    _check(model, sentence, tags)
    tokenizer = model.tokenizer
    encoded = encode_words([sentence], tokenizer, model.max_length)
    estimates = {}
    for window in range(len(encoded)):
        ids, mask = collate(encoded, [window], tokenizer.pad_token_id or 0)  # (1, L)
        of_word = torch.from_numpy(encoded.word[encoded.offsets[window] : encoded.offsets[window + 1]].astype(np.int64))
        decided = [number for number in of_word.unique().tolist() if number >= 0]
        asked = [number for number in decided if number in tags]
        if not asked:
            continue
        hidden = [torch.where(of_word == number, tokenizer.mask_token_id, ids[0]) for number in decided]
        classes = [model.labels.index(tags[number]) for number in asked]
        logits = _logits(model, [ids[0], *hidden], mask, of_word, asked)[:, range(len(asked)), classes]  # (1 + n, A)
        for column, number in enumerate(asked):
            before, *after = logits[:, column].tolist()
            change: list[float | None] = [None] * len(sentence)
            for other, without in zip(decided, after, strict=True):
                change[other] = before - without if other != number else None
            estimates[number] = ContextEstimate(number, tags[number], before, change)
    return estimates


def _check(model: LexicalSAE, sentence: Sequence[str], tags: Mapping[int, str]) -> None:
    if model.tokenizer.mask_token_id is None:
        raise ModelError("The tokenizer has no mask token to hide words behind; context cannot be estimated.")
    for word, tag in tags.items():
        if not 0 <= word < len(sentence):
            raise DataError(
                f"The sentence has {len(sentence)} words, and word number {word} was asked for; count from 0."
            )
        if tag not in model.labels:
            raise ModelError(f"The model has no tag '{tag}'; its tags are: {', '.join(model.labels)}.")


def _logits(model: LexicalSAE, shown: list[Tensor], mask: Tensor, of_word: Tensor, asked: list[int]) -> Tensor:
    """(n, A, C) of the words asked for, in each of n versions (L,) of a window."""
    column = torch.full_like(of_word, -1)  # (L,): which of the words asked for a position belongs to
    for number, word in enumerate(asked):
        column[of_word == word] = number
    logits = []
    for start in range(0, len(shown), BATCH):
        part = torch.stack(shown[start : start + BATCH]).to(model.device)  # (b, L)
        rows = torch.arange(len(part))[:, None] * len(asked) + column
        groups = torch.where(column >= 0, rows, -1).to(model.device)  # (b, L)
        state = model.tag_words(model(part, mask.to(model.device).expand_as(part)), groups)
        logits.append(state.logits.view(len(part), len(asked), -1).cpu())
    return torch.cat(logits)
