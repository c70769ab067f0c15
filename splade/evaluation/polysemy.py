"""Words in context: does a model say something else of a word when the word means something else?

Pairs of sentences with a word that has one meaning in both or two different ones (Pilehvar & Camacho-Collados, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from splade.data.batching import collate, encode_texts, longest_first
from splade.data.types import Columns
from splade.errors import DataError
from splade.models.lexical_sae import LexicalSAE

COLUMNS = ("sentence1", "sentence2", "index1", "index2", "label")
"""Two sentences, words parted by blanks; the word's number in each, from 0; and 1 where it means the same in both."""

SENTENCES_AT_A_TIME = 64


@dataclass(frozen=True)
class WordPair:
    """One word in two sentences."""

    sentences: tuple[str, str]
    spans: tuple[tuple[int, int], tuple[int, int]]
    """Characters of the word in each."""
    same: bool
    """Whether it means the same in both."""


@dataclass(frozen=True)
class Difference:
    """How much two occurrences differ, on average, when the meanings differ and when they agree."""

    across: float | None
    within: float | None
    pairs_across: int
    pairs_within: int


@dataclass(frozen=True)
class Polysemy:
    """Of pairs in which the word is the same single token."""

    senses: Difference | None
    """Share of pairs with two different senses chosen, among words that have several; None: no such word."""
    active: Difference
    """Mean Jaccard distance between the tokens active at the word, whether or not another position of the text has them
    too; pairs with nothing active in either are left out."""
    pairs: int


def word_pairs(columns: Columns, origin: str) -> list[WordPair]:
    """Read the columns of a word-in-context set; pairs without a label (−1) are left out."""
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DataError(
            f"{origin} has no column '{missing[0]}', but word-in-context pairs need {', '.join(COLUMNS)}; name a set "
            "that has them."
        )
    rows = zip(*(columns[name] for name in COLUMNS), strict=True)
    pairs = []
    for number, (first, second, i, j, label) in enumerate(rows, start=1):
        if int(str(label)) < 0:
            continue
        sentences = (str(first), str(second))
        spans = [_span(text, int(str(index))) for text, index in zip(sentences, (i, j), strict=True)]
        if None in spans:
            raise DataError(f"{origin} names a word in row {number} that its sentence does not have; correct the row.")
        pairs.append(WordPair(sentences, tuple(spans), int(str(label)) == 1))  # type: ignore[arg-type]
    return pairs


def _span(text: str, index: int) -> tuple[int, int] | None:
    start = 0
    for number, word in enumerate(text.split()):
        start = text.index(word, start)
        if number == index:
            return start, start + len(word)
        start += len(word)
    return None


@torch.no_grad()
def polysemy(
    model: LexicalSAE, pairs: Sequence[WordPair], advance: Callable[[int], None] = lambda sentences: None
) -> Polysemy:
    """Compare what the model says of a word in both sentences of each pair; `advance` is told of sentences done."""
    model.eval()
    sentences = [(text, span) for pair in pairs for text, span in zip(pair.sentences, pair.spans, strict=True)]
    found = _at_words(model, [text for text, _ in sentences], [span for _, span in sentences], advance)
    senses: tuple[list[float], list[float]] = ([], [])  # across, within
    active: tuple[list[float], list[float]] = ([], [])
    same_token = 0
    for pair, first, second in zip(pairs, found[::2], found[1::2], strict=True):
        if first is None or second is None or first.token != second.token:
            continue
        same_token += 1
        if first.sense is not None:
            senses[pair.same].append(float(first.sense != second.sense))
        union = first.active | second.active
        if union:
            active[pair.same].append(1 - len(first.active & second.active) / len(union))
    return Polysemy(_difference(senses) if any(senses) else None, _difference(active), same_token)


@dataclass(frozen=True)
class _Word:
    token: int
    sense: int | None
    active: frozenset[int]


def _at_words(
    model: LexicalSAE, texts: list[str], spans: list[tuple[int, int]], advance: Callable[[int], None]
) -> list[_Word | None]:
    """What the model says at each word; None where the tokenizer splits the word or the text was cut before it."""
    encoded = encode_texts(texts, model.tokenizer, model.max_length)
    places = [_place(model, text, span) for text, span in zip(texts, spans, strict=True)]
    out: list[_Word | None] = [None] * len(texts)
    senses = model.encoder.senses
    silent = model.encoder.supports[0].excluded  # (V,): a row of its own would make a stop word speak
    for rows in longest_first(encoded.lengths, SENTENCES_AT_A_TIME):
        ids, mask = (each.to(model.device) for each in collate(encoded, rows, model.tokenizer.pad_token_id or 0))
        sequence = model(ids, mask)
        groups = torch.full_like(ids, -1)  # each word is its own row, so that no other word competes for its tokens
        spoken = [(i, place) for i, row in enumerate(rows) if (place := places[row]) is not None]
        spoken = [(i, place) for i, place in spoken if not silent[ids[i, place]]]
        for number, (i, place) in enumerate(spoken):
            groups[i, place] = number
        fired: list[set[int]] = [set() for _ in spoken]
        if spoken:
            sparse, _ = model.encoder.pool(replace(sequence, groups=groups))
            for number, token in zip(sparse.row.tolist(), sparse.token.tolist(), strict=True):
                fired[number].add(token)
        active = {i: frozenset(tokens) for (i, _), tokens in zip(spoken, fired, strict=True)}
        for i, row in enumerate(rows):
            place = places[row]
            if place is None:
                continue
            token, flat = int(ids[i, place]), i * ids.shape[1] + place
            number = -1 if senses is None else int(senses.number[token])
            sense = None
            if senses is not None and number >= 0:
                here = torch.tensor([flat], device=model.device), torch.tensor([number], device=model.device)
                sense = int(senses.routing(sequence, *here).argmax())
            out[row] = _Word(token, sense, active.get(i, frozenset()))
        advance(len(rows))
    return out


def _place(model: LexicalSAE, text: str, span: tuple[int, int]) -> int | None:
    """The position of the one token that a word is."""
    offsets = model.tokenizer(text, truncation=True, max_length=model.max_length, return_offsets_mapping=True)[
        "offset_mapping"
    ]
    inside = [number for number, (a, b) in enumerate(offsets) if a < b and a < span[1] and b > span[0]]
    return inside[0] if len(inside) == 1 else None


def _difference(values: tuple[list[float], list[float]]) -> Difference:
    across, within = values
    first, second = (float(np.mean(each)) if each else None for each in (across, within))
    return Difference(first, second, len(across), len(within))
