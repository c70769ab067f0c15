"""k-sparse probes: how much of a label can be read off k columns of a representation, chosen and fitted on training
rows (Gurnee et al. 2023, arXiv:2305.01610)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.class_scores import class_scores
from splade.evaluation.estimate import Estimate, estimate
from splade.evaluation.measure import Progress, no_progress
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.tasks import Task
from splade.tasks.base import UNLABELLED, Batch

PROBED = (1, 2, 5)
"""Columns that a probe may read."""

MOST_ROWS = 20_000
"""Rows that probes are fitted on at most: a few weights each need no more, and their hidden states are some 30 MB."""

REPRESENTATIONS = ("code", "hidden")
"""Fields of `LabelledRows` that are probed."""

Matrix = Any
"""(R, F) rows of features: a numpy array, or a sparse matrix of scipy, which is slow to load."""


@dataclass(frozen=True)
class ProbeScores:
    """What probes of k columns reach on held-out rows."""

    accuracy: Estimate | None
    """Of columns of the sparse code."""
    macro_f1: float
    dense_accuracy: Estimate | None
    """Of as many columns of the mean hidden state that the code was made from."""
    dense_macro_f1: float


@dataclass(frozen=True)
class Probing:
    """Labels read off a few columns."""

    columns: dict[int, ProbeScores]
    """By their number."""
    majority: float
    """Share of the held-out rows with the label that most training rows have."""
    words: dict[str, list[str]]
    """By label, the tokens of the code that tell it from the others best, the best first."""
    training_rows: int
    rows: int


@dataclass(frozen=True)
class LabelledRows:
    """Rows in two representations: the sparse code s, and the mean hidden state that it was made from."""

    code: Matrix
    """(R, V), sparse."""
    hidden: np.ndarray
    """(R, d)."""
    labels: np.ndarray
    """(R,)."""
    texts: np.ndarray
    """(R,) the text of each row."""


@torch.no_grad()
def read_rows(
    model: LexicalModel,
    task: Task,
    texts: np.ndarray,
    batch_size: int,
    advance: Callable[[int], None] = lambda texts: None,
) -> Iterator[LabelledRows]:
    """The labelled rows of some texts of a task, a batch at a time."""
    model.eval()
    for batch in task.in_order(batch_size, model.device, texts):
        encoded = model(batch.input_ids, batch.attention_mask)
        state = task.decide(model, encoded, batch)
        labels = batch.labels.cpu().numpy()
        known = np.flatnonzero(labels != UNLABELLED)
        hidden = mean_hidden(encoded.hidden, batch, task).cpu().numpy()
        places = task.example_of_row[batch.places]
        yield LabelledRows(as_matrix(state.rows)[known], hidden[known], labels[known], places[known])
        advance(len(batch.rows))


def mean_hidden(hidden: Tensor, batch: Batch, task: Task) -> Tensor:
    """(R, d) the mean over each row's positions of hidden states (B, L, d), as a dense head takes it."""
    row = torch.where(batch.attention_mask > 0, task.row_of_position(batch), -1).flatten()  # (B·L,)
    place = (row >= 0).nonzero(as_tuple=True)[0]
    states = hidden.reshape(-1, hidden.shape[-1]).index_select(0, place).float()
    sums = states.new_zeros(len(batch.labels), states.shape[1]).index_add(0, row[place], states)
    return sums / torch.bincount(row[place], minlength=len(sums)).clamp(min=1)[:, None]


def as_matrix(rows: SparseRows) -> Matrix:
    """(R, V) sparse rows as a matrix of scipy."""
    from scipy.sparse import csr_matrix  # slow to load

    value, place = rows.value.cpu().numpy(), (rows.row.cpu().numpy(), rows.token.cpu().numpy())
    return csr_matrix((value, place), shape=(rows.num_rows, rows.vocab_size))


def gathered(batches: Sequence[LabelledRows]) -> LabelledRows:
    """All batches in one."""
    from scipy.sparse import vstack

    dense = ([getattr(batch, name) for batch in batches] for name in ("hidden", "labels", "texts"))
    return LabelledRows(vstack([batch.code for batch in batches], "csr"), *(np.concatenate(each) for each in dense))


def few_texts(task: Task, seed: int) -> np.ndarray:
    """Texts, drawn at random, that have no more than `MOST_ROWS` rows together; ascending."""
    order = np.random.default_rng(seed).permutation(len(task))
    sizes = np.cumsum([task.size(order[place : place + 1]) for place in range(len(order))])
    return np.sort(order[: max(1, int(np.searchsorted(sizes, MOST_ROWS, side="right")))])


@dataclass(frozen=True)
class Probe:
    """One linear rule a class, of a few columns; the class of a row is that of the highest."""

    columns: np.ndarray
    """(C, k)."""
    weight: np.ndarray
    """(C, k)."""
    bias: np.ndarray
    """(C,) −inf for a class that no training row has."""

    def decide(self, features: Matrix) -> np.ndarray:
        """(R,) the classes of rows (R, F)."""
        values = _dense_columns(features, self.columns.ravel()).reshape(-1, *self.columns.shape)  # (R, C, k)
        return ((values * self.weight).sum(-1) + self.bias).argmax(-1)


def strongest_columns(features: Matrix, labels: np.ndarray, classes: int, most: int) -> np.ndarray:
    """(C, most) the columns that tell each class from the others best, the best first: by the difference of means
    between the class and the rest, in standard deviations of the column, so that no column wins by its scale."""
    mean = np.asarray(features.mean(0)).ravel()  # (F,)
    square = features.multiply(features) if hasattr(features, "multiply") else features**2
    spread = np.sqrt(np.maximum(np.asarray(square.mean(0)).ravel() - mean**2, 0))
    chosen = []
    for number in range(classes):
        inside = labels == number
        share = inside.mean()
        of_class = np.asarray(features[inside].mean(0)).ravel() if inside.any() else mean
        difference = (of_class - mean) / max(1 - share, 1e-9)  # from the mean of the others
        strength = np.divide(np.abs(difference), spread, out=np.zeros_like(spread, dtype=float), where=spread > 1e-9)
        chosen.append(np.argsort(-strength, kind="stable")[:most])
    return np.stack(chosen)


def fit_probe(features: Matrix, labels: np.ndarray, columns: np.ndarray) -> Probe:
    """Logistic regressions, one class against the rest, each on its own `columns` (C, k) of training rows."""
    from sklearn.linear_model import LogisticRegression  # slow to load

    weight, bias = np.zeros(columns.shape), np.full(len(columns), -np.inf)
    for number, chosen in enumerate(columns):
        inside = labels == number
        if not inside.any():
            continue
        if inside.all():
            bias[number] = 0.0
            continue
        values = _dense_columns(features, chosen)
        spread = np.maximum(values.std(0), 1e-9)
        fitted = LogisticRegression().fit(values / spread, inside)
        weight[number], bias[number] = fitted.coef_[0] / spread, fitted.intercept_[0]
    return Probe(columns, weight, bias)


def _dense_columns(features: Matrix, columns: np.ndarray) -> np.ndarray:
    """(R, K) some columns of rows (R, F)."""
    chosen = features[:, columns]
    values: np.ndarray = chosen.toarray() if hasattr(chosen, "toarray") else chosen
    return values


def probe(
    model: LexicalModel,
    task: Task,
    texts: np.ndarray,
    training: Task,
    *,
    batch_size: int,
    seed: int,
    progress: Progress = no_progress,
) -> Probing:
    """Fit probes of code and hidden state on training rows, and score them on some texts of a task."""
    fitted_on = few_texts(training, seed)
    with progress("probing", len(fitted_on) + len(texts)) as advance:
        known = gathered(list(read_rows(model, training, fitted_on, batch_size, advance)))
        columns = {
            name: strongest_columns(getattr(known, name), known.labels, len(model.labels), max(PROBED))
            for name in REPRESENTATIONS
        }
        probes = {
            (name, k): fit_probe(getattr(known, name), known.labels, columns[name][:, :k])
            for name in REPRESENTATIONS
            for k in PROBED
        }
        labels, owners, given = [], [], []
        for rows in read_rows(model, task, texts, batch_size, advance):
            labels.append(rows.labels)
            owners.append(rows.texts)
            given.append(np.stack([one.decide(getattr(rows, name)) for (name, _), one in probes.items()], 1))
    gold, owner, decided = (np.concatenate(each) for each in (labels, owners, given))  # (R,), (R,), (R, probes)

    def scores(name: str, k: int) -> tuple[Estimate | None, float]:
        answers = decided[:, list(probes).index((name, k))]
        right = estimate((answers == gold).astype(float), owner, seed)
        return right, class_scores(model.labels, gold, answers).macro_f1

    found = {k: ProbeScores(*scores("code", k), *scores("hidden", k)) for k in PROBED}
    majority = np.bincount(known.labels, minlength=len(model.labels)).argmax()
    ever = np.asarray((known.code != 0).sum(0)).ravel() > 0  # (V,)
    words = {
        label: [model.vocabulary.name_in_place(token) for token in chosen if ever[token]]
        for label, chosen in zip(model.labels, columns["code"].tolist(), strict=True)
    }
    return Probing(found, float((gold == majority).mean()), words, len(known.labels), len(gold))
