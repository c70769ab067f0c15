"""Splicing: what a dense model decides when autoencoders' reconstructions stand in the place of its hidden states.

The logit of a label is, at the gradient g of its positions, which is exact for a head of ReLUs,

    logit = base + Σ_f contribution_f + error      contribution_f = Σ_positions a_f·(g·d_f)
                                                   error = Σ_positions g·(h − ĥ)
                                                   base: what is left, the autoencoder's origin among it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.mechanistic.attribution import compute_attribution_tensor
from splade.mechanistic.sae import SparseAutoencoder
from splade.models.dense import DenseClassifier
from splade.models.state import CircuitState
from splade.tasks import Batch, Task

STRONGEST = 10
"""Features, or words, that a logit is to be explained by: what a person would read of an explanation."""


@dataclass(frozen=True)
class DenseRead:
    """A batch through the dense model: P positions that its head reads, for R rows."""

    hidden: Tensor
    """(B, L, d) of all positions."""
    place: Tensor
    """(P,) flat positions b·L + l that the head reads."""
    row: Tensor
    """(P,) the row each is read for."""
    logits: Tensor
    """(R, C)."""
    decided: Tensor
    """(R,) the most probable classes."""
    gradient: Tensor
    """(P, d) of those classes' logits."""

    @property
    def states(self) -> Tensor:
        """(P, d) the hidden states that the head reads."""
        return self.hidden.flatten(0, 1)[self.place]

    def spliced(self, states: Tensor) -> Tensor:
        """(B, L, d) the hidden states with others (P, d) where the head reads them."""
        return self.hidden.flatten(0, 1).index_copy(0, self.place, states).view_as(self.hidden)

    def sum_rows(self, values: Tensor) -> Tensor:
        """(R, ...) the sum over the positions of each row of values (P, ...)."""
        return values.new_zeros(len(self.logits), *values.shape[1:]).index_add(0, self.row, values)


def read_dense(
    dense: DenseClassifier,
    task: Task,
    texts: np.ndarray,
    batch_size: int,
    advance: Callable[[int], None] = lambda texts: None,
) -> Iterator[tuple[Batch, DenseRead]]:
    """The batches of some texts of a task, each with what the dense model made of it."""
    for batch in task.in_order(batch_size, dense.device, texts):
        with torch.no_grad():
            hidden = dense(batch.input_ids, batch.attention_mask).float()  # (B, L, d)
        rows = dense.row_of_position(batch.attention_mask, batch.words).flatten()  # (B·L,)
        place = (rows >= 0).nonzero(as_tuple=True)[0]
        with torch.enable_grad():
            leaf = hidden.requires_grad_(True)
            logits = task.decide(dense, leaf, batch).logits
            decided = logits.argmax(1)
            (gradient,) = torch.autograd.grad(logits.gather(1, decided[:, None]).sum(), leaf)
        read = hidden.detach(), place, rows[place], logits.detach(), decided
        yield batch, DenseRead(*read, gradient.flatten(0, 1)[place])
        advance(len(batch.rows))


@dataclass(frozen=True)
class TrainingVectors:
    """Hidden states of training texts, for whatever is fitted."""

    values: Tensor
    """(N, d) of positions that the head reads."""
    texts: np.ndarray
    """(T,) the texts they are of."""
    positions: float
    """That the head reads a row, mean."""


def training_vectors(dense: DenseClassifier, task: Task, number: int, batch_size: int, seed: int) -> TrainingVectors:
    """At most `number` hidden states of random texts of a task."""
    order = np.random.default_rng(seed).permutation(len(task))
    parts: list[Tensor] = []
    taken = texts = 0
    while taken < number and texts < len(order):
        some = order[texts : texts + batch_size]
        parts += [read.states for _, read in read_dense(dense, task, some, batch_size)]
        taken, texts = sum(map(len, parts)), texts + len(some)
    values = torch.cat(parts) if parts else torch.zeros(0, dense.backbone.hidden_size)
    return TrainingVectors(values[:number], order[:texts], taken / max(1, task.size(order[:texts])))


@dataclass(frozen=True)
class LogitParts:
    """How the logits of what is decided come about; (R,) each."""

    logit: np.ndarray
    strongest: np.ndarray
    """What the base and the strongest few make of it."""
    features: np.ndarray
    """What all words, or features, add to the base."""
    error: np.ndarray
    """What the error adds to the logit."""
    active: np.ndarray
    """Words, or distinct features, that speak for a row."""


@torch.no_grad()
def own_logit_parts(state: CircuitState) -> LogitParts:
    """Of our own model: words in the place of features, and the rounding of their sum for an error."""
    decided = state.logits.argmax(1)
    words = compute_attribution_tensor(state, decided)
    base, logit = (each.gather(1, decided[:, None])[:, 0] for each in (state.b_eff, state.logits))
    every = words.sum_rows()
    few = words.select(words.rank_in_row(words.value.abs()) < STRONGEST).sum_rows()
    return LogitParts(*_arrays(logit, base + few, every, logit - base - every, state.rows.counts))


def _arrays(*tensors: Tensor) -> Iterator[np.ndarray]:
    return (tensor.double().cpu().numpy() for tensor in tensors)


class SplicedMeter:
    """Gathers what one autoencoder does to the dense model."""

    def __init__(self, autoencoder: SparseAutoencoder):
        self.autoencoder = autoencoder
        self.squares, self.positions, self.active = 0.0, 0, 0
        self.fired = torch.zeros(len(autoencoder.decoder), dtype=torch.bool, device=autoencoder.decoder.device)
        self.logits: list[Tensor] = []
        """(R, C) with the reconstruction spliced in, of each batch."""
        self.parts: list[LogitParts] = []
        """Of the dense model's own logits."""

    @torch.no_grad()
    def add(self, dense: DenseClassifier, task: Task, batch: Batch, read: DenseRead) -> None:
        """Take in one more batch."""
        states = read.states  # (P, d)
        codes = self.autoencoder.codes(states)  # (P, M)
        reconstructed = self.autoencoder.reconstruct(codes)  # (P, d)
        rest, on = states - reconstructed, codes > 0
        self.squares += float(rest.double().pow(2).sum())
        self.positions, self.active = self.positions + len(states), self.active + int(on.sum())
        self.fired |= on.any(0)
        self.logits.append(task.decide(dense, read.spliced(reconstructed), batch).logits.cpu())
        contribution = read.sum_rows(codes * (read.gradient @ self.autoencoder.directions.T))  # (R, M)
        error = read.sum_rows((read.gradient * rest).sum(1))  # (R,)
        features = contribution.sum(1)
        logit = read.logits.gather(1, read.decided[:, None])[:, 0]
        most = contribution.abs().topk(min(STRONGEST, contribution.shape[1]), dim=1).indices
        strongest = logit - features - error + contribution.gather(1, most).sum(1)
        distinct = (read.sum_rows(on.float()) > 0).sum(1)
        self.parts.append(LogitParts(*_arrays(logit, strongest, features, error, distinct)))


def joined(parts: Sequence[LogitParts]) -> LogitParts:
    """Those of several batches."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return LogitParts(*(np.concatenate(column) for column in columns))


class VarianceMeter:
    """Σ‖x − mean x‖² over vectors that come in parts."""

    def __init__(self) -> None:
        self.number, self.squares, self.sums = 0, 0.0, torch.zeros(())

    def add(self, vectors: Tensor) -> None:
        """Take in some more (N, d)."""
        vectors = vectors.double()
        self.number, self.squares = self.number + len(vectors), self.squares + float(vectors.pow(2).sum())
        self.sums = self.sums.to(vectors) + vectors.sum(0)

    @property
    def total(self) -> float:
        return self.squares - float(self.sums.pow(2).sum()) / max(1, self.number)
