"""Sparse codes of many texts, read once and kept as compressed rows: what a removal leaves of them needs no backbone.

Kept are the activations before pooling, each with the word that it arose at. With max pooling a removal takes some of
them away, and the highest that is left of each token is exactly what the model itself would give:

    s_j = max over l of a[l, j],  l: positions that may speak, j: tokens that are not shut
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.errors import ModelError
from splade.models.encoder import SparseSequence
from splade.models.pooling import MaxPooling
from splade.models.protocol import LexicalModel
from splade.models.removal import Removal
from splade.models.sparse import SparseRows
from splade.models.word_reader import Pieces, words_in_pieces
from splade.task_description import describe
from splade.tasks import Task

NO_WORD = ""
"""The word of a position that belongs to none."""

View = Callable[[SparseSequence], SparseSequence]
"""What is done to an encoded batch before its activations are read."""

Transform = Callable[[SparseRows], SparseRows]
"""What is done to the rows of a batch before the head."""

TEXTS_AT_A_TIME = 1024
"""Texts that the head decides on together: made dense in two thousand columns, they are 8 MB."""


@dataclass(frozen=True)
class Codes:
    """The activations of texts, sorted by text, token and then the highest value first."""

    row: np.ndarray
    """(N,) which text."""
    token: np.ndarray
    """(N,) column; from `vocab_size` on, the place in `unmet` of a word that training never met."""
    word: np.ndarray
    """(N,) the place in `words` of the word that it arose at."""
    value: np.ndarray
    """(N,) float32."""
    words: list[str]
    """In lower case."""
    unmet: list[Pieces]
    """Words that the tokenizer splits and that have no column of their own for good."""
    texts: int
    vocab_size: int

    def __len__(self) -> int:
        return self.texts

    def select(self, keep: np.ndarray) -> Codes:
        """The activations where `keep` (N,) is true."""
        arrays = {name: getattr(self, name)[keep] for name in ("row", "token", "word", "value")}
        return replace(self, **arrays)

    def without(self, model: LexicalModel, removal: Removal) -> Codes:
        """What a removal leaves: nothing of tokens that are shut, nothing where a silenced word stands."""
        shut = np.zeros(self.vocab_size + len(self.unmet), dtype=bool)
        shut[: self.vocab_size] = np.isin(model.vocabulary.base.numpy(), list(removal.tokens))
        opened = model.open_words
        columns = [opened.column_of(word) for word in removal.split] if opened is not None else []
        shut[[column for column in columns if column is not None]] = True
        shut[self.vocab_size :] = [word in removal.split for word in self.unmet]
        silent = np.array([word in removal.words for word in self.words], dtype=bool)
        return self.select(~(shut[self.token] | silent[self.word]))

    def pooled(self) -> Codes:
        """The highest activation of each token in each text alone."""
        first = np.ones(len(self.row), dtype=bool)
        first[1:] = (self.row[1:] != self.row[:-1]) | (self.token[1:] != self.token[:-1])
        return self.select(first)

    def take(self, rows: np.ndarray) -> Codes:
        """Some texts (K,), in the given order; each may be asked for once."""
        number = np.full(self.texts, -1)
        number[rows] = np.arange(len(rows))
        kept = self.select(number[self.row] >= 0)
        row = number[kept.row]
        order = np.argsort(row, kind="stable")
        return replace(
            kept,
            row=row[order].astype(np.int32),
            texts=len(rows),
            **{name: getattr(kept, name)[order] for name in ("token", "word", "value")},
        )

    def with_others(self, rows: np.ndarray, others: Codes) -> Codes:
        """The same with the codes of other texts in the place of some (K,)."""
        kept = np.ones(self.texts, dtype=bool)
        kept[rows] = False
        mine = self.select(kept[self.row])
        words = {word: place for place, word in enumerate(self.words)}
        unmet = {word: place for place, word in enumerate(self.unmet)}
        word = np.array([words.setdefault(each, len(words)) for each in others.words], dtype=np.int32)
        place = np.array([unmet.setdefault(each, len(unmet)) for each in others.unmet], dtype=np.int32)
        token = others.token.copy()
        passing = token >= others.vocab_size
        token[passing] = self.vocab_size + place[token[passing] - others.vocab_size]
        columns = (
            np.concatenate(pair)
            for pair in (
                (mine.row, rows[others.row].astype(np.int32)),
                (mine.token, token),
                (mine.word, word[others.word]),
                (mine.value, others.value),
            )
        )
        row, token, word, value = columns
        order = np.lexsort((-value, token, row))
        return replace(
            self,
            row=row[order],
            token=token[order],
            word=word[order],
            value=value[order],
            words=list(words),
            unmet=list(unmet),
        )

    def matrix(self) -> Any:
        """(texts, V) the pooled codes as a sparse matrix of scipy, without words that training never met."""
        from scipy.sparse import csr_matrix  # slow to load

        known = self.pooled()
        known = known.select(known.token < self.vocab_size)
        return csr_matrix((known.value, (known.row, known.token)), shape=(self.texts, self.vocab_size))


class CodeReader:
    """Pooled codes as a model's head takes them, any texts of them at a time."""

    def __init__(self, model: LexicalModel, codes: Codes):
        pooled = codes.pooled()
        self.model, self.codes = model, pooled
        counts = np.bincount(pooled.row, minlength=pooled.texts)
        self.ends = counts.cumsum()
        self.starts = self.ends - counts

    def rows(self, texts: np.ndarray) -> SparseRows:
        """A row a text (K,), in the given order."""
        counts = self.ends[texts] - self.starts[texts]
        first = np.repeat(self.starts[texts] - (counts.cumsum() - counts), counts)
        place = first + np.arange(len(first))  # (M,)
        token = torch.from_numpy(self.codes.token[place].astype(np.int64))
        outside = (token >= self.codes.vocab_size).nonzero()[:, 0]
        if len(outside):
            numbers, which = (token[outside] - self.codes.vocab_size).unique(return_inverse=True)
            opened: Any = self.model.open_words
            columns = opened.columns_of([self.codes.unmet[number] for number in numbers.tolist()])
            token[outside] = torch.tensor(columns)[which]
        row = torch.from_numpy(np.repeat(np.arange(len(texts)), counts))
        value = torch.from_numpy(self.codes.value[place])
        if len(outside):  # columns given anew stand in another order
            order = torch.argsort(row * self.codes.vocab_size + token)
            row, token, value = row[order], token[order], value[order]
        rows = SparseRows(row, token, torch.zeros_like(row), value, len(texts), self.codes.vocab_size)
        return _on(rows, self.model.device)


def _on(rows: SparseRows, device: torch.device) -> SparseRows:
    moved = {name: getattr(rows, name).to(device) for name in ("row", "token", "position", "value")}
    return replace(rows, **moved)


def check_codes(model: LexicalModel) -> None:
    """Refuse a model whose codes cannot be kept before pooling."""
    if not describe(model.task).decides_on_texts:
        raise ModelError(f"The model {describe(model.task).does}, and one that classifies texts was expected.")
    if not isinstance(model.encoder.pooling, MaxPooling):
        raise ModelError(
            f"The model pools by {model.config.pooling}, where a word that is removed changes what all others weigh, "
            "and pooling by max was expected; train one with --set model.pooling=max."
        )


@torch.no_grad()
def read_codes(
    model: LexicalModel,
    task: Task,
    views: Mapping[str, View],
    batch_size: int,
    *,
    hidden: bool = False,
    advance: Callable[[int], None] = lambda texts: None,
) -> tuple[dict[str, Codes], np.ndarray | None]:
    """The codes of a task's texts by the name of each view, and with `hidden` the mean hidden state (N, d) of each.

    The backbone reads every text once, whatever the number of views.
    """
    check_codes(model)
    model.eval()
    gathered = {name: _Gathered(model) for name in views}
    means: np.ndarray | None = None
    for batch in task.in_order(batch_size, model.device):
        encoded = model(batch.input_ids, batch.attention_mask)
        if hidden:
            mask = batch.attention_mask[..., None]
            mean = ((encoded.hidden.float() * mask).sum(1) / mask.sum(1)).cpu().numpy()  # (B, d)
            means = np.zeros((len(task), mean.shape[1]), dtype=np.float32) if means is None else means
            means[batch.rows] = mean
        for name, view in views.items():
            gathered[name].update(view(encoded), batch.rows)
        advance(len(batch.rows))
    return {name: each.codes(len(task)) for name, each in gathered.items()}, means


def as_it_is(sequence: SparseSequence) -> SparseSequence:
    """The view of what the model encoded."""
    return sequence


class _Gathered:
    """The activations of all batches of one view."""

    def __init__(self, model: LexicalModel):
        self.model, self.size = model, model.vocab_size
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.words: dict[str, int] = {NO_WORD: 0}
        self.unmet: dict[Pieces, int] = {}
        opened = model.open_words
        self.free = range(0) if opened is None else range(opened.rare + 1, opened.first + len(opened))
        """The columns that no word has for good."""

    def update(self, sequence: SparseSequence, rows: np.ndarray) -> None:
        length = sequence.input_ids.shape[1]
        position, column, value = (each.cpu().numpy() for each in sequence.active_pairs())
        token = self._tokens(sequence, column)
        word = self._words(sequence)[position]
        self.parts.append((rows[position // length].astype(np.int32), token, word, value.astype(np.float32)))

    def _words(self, sequence: SparseSequence) -> np.ndarray:
        """(B·L,) the number of the word at each position."""
        vocabulary = self.model.vocabulary
        split, number = words_in_pieces(vocabulary, sequence.input_ids, sequence.attention_mask.bool())
        named = {each: vocabulary.name_of(pieces).lower() for each, pieces in split.items()}
        ids = sequence.input_ids.flatten().tolist()
        names = [
            NO_WORD if of_word < 0 else named.get(of_word) or vocabulary.names[token].lower()
            for of_word, token in zip(number.tolist(), ids, strict=True)
        ]
        return np.array([self.words.setdefault(name, len(self.words)) for name in names], dtype=np.int32)

    def _tokens(self, sequence: SparseSequence, column: np.ndarray) -> np.ndarray:
        """(N,) columns, those that may be given to other words later by the place of their word."""
        token = column.astype(np.int32)
        passing = np.flatnonzero((token >= self.free.start) & (token < self.free.stop))
        opened = self.model.open_words
        if len(passing) and opened is not None:
            numbers, which = np.unique(token[passing], return_inverse=True)
            met = opened.met_in(numbers.tolist())
            places = [self.size + self.unmet.setdefault(word, len(self.unmet)) for word in met]
            token[passing] = np.array(places, dtype=np.int32)[which]
        return token

    def codes(self, texts: int) -> Codes:
        empty = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        row, token, word, value = (np.concatenate(each) for each in zip(*(self.parts or [empty]), strict=True))
        order = np.lexsort((-value, token, row))
        return Codes(
            row[order],
            token[order],
            word[order],
            value[order],
            list(self.words),
            list(self.unmet),
            texts,
            self.size,
        )


@torch.no_grad()
def logits_of(model: LexicalModel, codes: Codes | CodeReader, transform: Transform | None = None) -> Tensor:
    """(N, C) the logits that a model's head gives to codes; `transform`: what is done to rows before it."""
    reader = CodeReader(model, codes) if isinstance(codes, Codes) else codes
    found = [torch.zeros(0, len(model.labels))]
    for start in range(0, len(reader.codes), TEXTS_AT_A_TIME):
        rows = reader.rows(np.arange(start, min(start + TEXTS_AT_A_TIME, len(reader.codes))))
        found.append(model.decide(transform(rows) if transform else rows).logits.cpu())
    return torch.cat(found)
