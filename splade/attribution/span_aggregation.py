"""From subword positions to the words of the text: exact, because a position belongs to one word at the most."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from splade.attribution.explanation import NO_WORD
from splade.errors import DataError, ModelError, nearest

Method = Literal["sum", "max_abs"]

# Stands for every combining mark (accents, Indic and Thai vowel signs, emoji variants), which `\w` does not match.
MARK = "\ue000"

# A word, with its inner hyphens and apostrophes ("scene-stealing", "don't"), or one mark of punctuation.
_WORD = re.compile(rf"\w[\w{MARK}]*(?:[-'’]\w[\w{MARK}]*)*|[^\w\s]{MARK}*")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of the words and punctuation marks of a text, in order."""
    return [match.span() for match in _WORD.finditer(with_marks(text))]


def with_marks(text: str) -> str:
    """The text with `MARK` for every combining mark, character for character."""
    if text.isascii():
        return text
    return "".join(MARK if unicodedata.category(char).startswith("M") else char for char in text)


def words_of_positions(offsets: list[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each subword's character offsets the number of the word it lies in, or −1 (a special token, white space)."""
    ends, out = [end for _, end in spans], []
    for start, end in offsets:
        word = bisect_right(ends, start)  # the first word that ends after the subword's start
        inside = start < end and word < len(spans) and spans[word][0] < end
        out.append(word if inside else -1)
    return out


def check_spans(spans: Iterable[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Character spans as given, after a check that each is a part of the text and that no two share a character."""
    checked = [check_span(span, text) for span in spans] if isinstance(spans, Iterable) else [check_span(spans, text)]
    for before, after in pairwise(sorted(checked)):
        if after[0] < before[1]:
            raise DataError(f"The spans {before} and {after} overlap, and a word counts once; give spans that do not.")
    return checked


def check_span(span: Any, text: str) -> tuple[int, int]:
    """A character span as given, after a check that it is a part of the text."""
    try:
        start, end = (index(place) for place in span)
    except (TypeError, ValueError):
        raise DataError(
            f"A span is a pair of whole numbers, its first character and one past its last, but {span!r:.60} was given."
        ) from None
    if not 0 <= start < end <= len(text):
        raise DataError(
            f"The span ({start}, {end}) is no part of the text, which has {len(text)} characters; give 0 ≤ start < end "
            f"≤ {len(text)}."
        )
    return start, end


def aggregate_subword_attributions(
    token_ids: list[int],
    attribution_scores: Tensor,
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    method: Method = "sum",
) -> list[tuple[str, float]]:
    """Merge subword scores into word scores by the tokenizer's offset mapping.

    `token_ids` are the text's tokens, special ones included. `attribution_scores` are (L,) position scores, (L, V), or
    (V,) scores of vocabulary tokens (a token that occurs n times gives each place 1/n of its score).
    `sum` gives total evidence, so that all words together have the scores' sum; `max_abs` the strongest piece with its
    sign, which does not cancel. What belongs to no word is the last row, "(no word)".
    """
    if method not in ("sum", "max_abs"):
        raise ModelError(
            f"Unknown method '{method}'; the choices are: sum, max_abs.{nearest(method, ['sum', 'max_abs'])}"
        )
    positions = _position_scores(torch.as_tensor(token_ids), attribution_scores, len(tokenizer))
    encoding = tokenizer(text, return_offsets_mapping=True, truncation=True, max_length=max(len(token_ids), 1))
    if list(encoding["input_ids"]) != list(token_ids):
        raise ModelError(
            f"The {len(token_ids)} token ids are not those of the text (found {len(encoding['input_ids'])}); pass the "
            "ids this tokenizer gives the text, special tokens included."
        )
    spans = word_spans(text)
    pieces: list[list[float]] = [[] for _ in range(len(spans) + 1)]
    for word, score in zip(words_of_positions(encoding["offset_mapping"], spans), positions.tolist(), strict=True):
        pieces[word].append(score)  # −1 is the last list
    merge = sum if method == "sum" else lambda scores: max(scores, key=abs, default=0.0)
    names = [text[start:end] for start, end in spans] + [NO_WORD]
    return [(name, float(merge(scores))) for name, scores in zip(names, pieces, strict=True)]


def _position_scores(token_ids: Tensor, scores: Tensor, vocab_size: int) -> Tensor:
    """(L,)."""
    if scores.ndim == 2 and len(scores) == len(token_ids):
        return scores.sum(1)
    if scores.ndim == 1 and len(scores) == len(token_ids):
        return scores
    if scores.ndim == 1 and len(scores) >= vocab_size:
        times = torch.bincount(token_ids, minlength=len(scores))[token_ids]
        return scores[token_ids] / times
    raise ModelError(
        f"Scores of shape {tuple(scores.shape)} fit neither {len(token_ids)} positions nor a vocabulary of "
        f"{vocab_size}; pass (L,), (L, V) or (V,)."
    )
