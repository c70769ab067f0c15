"""What speaks in every text, by name: the ground that concepts are found on.

Taking a name out of a model shuts the columns that have it and silences the word where it stands; what a name has *in
its hands* in a text is therefore all that its columns say there, and all that anything says where the word stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.data.given import BATCH_SIZE
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.protocol import LexicalModel
from splade.models.vocabulary import Vocabulary
from splade.surgery.top_tokens import word_names
from splade.tasks.base import Task
from splade.tasks.reader import read

Matrix = Any
"""(T, K) a sparse matrix of scipy, which is slow to load."""


@dataclass(frozen=True)
class Spoken:
    """Every text's entries, each once, with the name of its column and that of the word it is spoken by."""

    text: np.ndarray
    """(N,) which text."""
    column: np.ndarray
    """(N,) number of the column's name."""
    word: np.ndarray
    """(N,) number of the name of the word that stands there."""
    value: np.ndarray
    """(N,) what of s_j arose there."""
    contribution: np.ndarray
    """(N,) what it adds to the logit of the predicted class."""
    predicted: np.ndarray
    """(T,) the predicted class."""
    names: list[str]
    """(K,) of columns and words alike, in lower case; of a column that is no word, as the tokenizer writes it."""

    @property
    def texts(self) -> int:
        return len(self.predicted)

    def only(self, kept: np.ndarray) -> Spoken:
        """Some of the entries (N,) bool, of all texts."""
        parts = {name: getattr(self, name)[kept] for name in ("text", "column", "word", "value", "contribution")}
        return replace(self, **parts)

    def in_hands(self, *, silence: bool = True) -> tuple[Matrix, Matrix]:
        """(T, K) each: what every name has in its hands in every text, as a sum of values s ≥ 0 and as a signed sum of
        contributions. `silence`: also what others say where the word stands."""
        from scipy.sparse import csr_matrix

        where = [(self.column, np.arange(len(self.column)))]
        if silence:
            others = np.flatnonzero(self.column != self.word)  # what is both is there once
            where.append((self.word[others], others))
        shape = self.texts, len(self.names)
        sums = []
        for amount in (self.value, self.contribution):
            parts = [csr_matrix((amount[which], (self.text[which], name)), shape=shape) for name, which in where]
            sums.append(sum(parts[1:], parts[0]))
        return sums[0], sums[1]


@torch.no_grad()
def read_spoken(
    model: LexicalModel,
    task: Task,
    batch_size: int = BATCH_SIZE,
    advance: Callable[[int], None] = lambda texts: None,
) -> Spoken:
    """Read texts, a row a text, and keep what speaks in them."""
    number: dict[str, int] = {}
    predicted = np.zeros(len(task.labels), dtype=np.int64)
    parts: list[tuple[np.ndarray, ...]] = []
    for batch, state in read(model, task, batch_size, advance=advance):
        places, classes = batch.places, state.logits.argmax(-1)
        predicted[places] = classes.cpu().numpy()
        rows = compute_attribution_tensor(state, classes)
        entry, position, said = rows.by_position()
        amount = state.rows.by_position()[2]
        words = word_names(model, batch)
        columns = column_names(model.vocabulary, rows.token)
        parts.append(
            (
                places[rows.row[entry].cpu().numpy()],
                _numbers([columns[token] for token in rows.token[entry].tolist()], number),
                _numbers([words[place] for place in position.tolist()], number),
                amount.cpu().numpy(),
                said.cpu().numpy(),
            )
        )
    kinds = (np.int64, np.int64, np.int64, np.float64, np.float64)
    text, column, word, value, contribution = (
        np.concatenate([np.empty(0), *(part[which] for part in parts)]).astype(kind) for which, kind in enumerate(kinds)
    )
    return Spoken(text, column, word, value, contribution, predicted, list(number))


def column_names(vocabulary: Vocabulary, columns: Tensor) -> dict[int, str]:
    """The name of each of some columns, by which `splade.surgery.targets` finds it again: a word in lower case, of a
    sense that of its token; of what is no word as the tokenizer writes it."""
    found = {}
    for column in columns.unique().tolist():
        base = int(vocabulary.base[column])
        name = vocabulary.names[base].lower()
        is_word = base >= vocabulary.tokens or bool(vocabulary.match(name))
        found[column] = name if is_word else vocabulary.pieces[base]
    return found


def _numbers(names: list[str], number: dict[str, int]) -> np.ndarray:
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
