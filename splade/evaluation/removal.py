"""Removal of tokens at the bottleneck: what is left of a prediction without some active tokens, or with them alone.

Only the head runs again. Any ranking of the active tokens can be asked about, not only ours: `erase` takes scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from splade.circuits.core import circuit_size
from splade.data.splits import TEST_SEED
from splade.evaluation.measure import Seen
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.tasks import Task

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Shares of a row's active tokens that are removed, or kept: those of DeYoung et al. 2020 (arXiv:1911.03429)."""

NUMBERS = (1, 2, 3, 5, 10)
"""Numbers of tokens: of 25 active ones the smaller shares are one token."""

SIZES: tuple[float | int, ...] = (*SHARES, *NUMBERS)

FLOATS_AT_A_TIME = 4_000_000
"""Of what a head holds of the sets it decides on at once, hidden units times classes for each: 16 MB."""


class TokenSets:
    """The active tokens of some rows, a column each, and what a model decides on any sets of them."""

    def __init__(self, model: LexicalModel, rows: SparseRows, classes: Tensor):
        """`classes` (R,): whose probability is asked for."""
        self.model, self.classes = model, classes.cpu()
        self._active = rows.value > 0
        active = rows.select(self._active)
        self.counts = active.counts.cpu()
        """(R,) active tokens."""
        self._place = active.row.cpu(), (torch.arange(len(active)) - active.offsets.cpu()[active.row.cpu()])
        self._token, self._value = self._table(active.token), self._table(active.value)  # (R, n) each
        self.filled = torch.arange(self._token.shape[1]) < self.counts[:, None]
        """(R, n) bool: the columns that are tokens of the row, its first."""

    def _table(self, entries: Tensor) -> Tensor:
        """(R, n) of something of each active entry, 0 in the columns that are none."""
        columns = int(self.counts.max()) if len(self.counts) else 0
        table = torch.zeros(len(self.counts), columns, dtype=entries.dtype)
        table[self._place] = entries.cpu()
        return table

    def ranks(self, scores: Tensor) -> Tensor:
        """(R, n) the rank of each token in its row by scores (N,) of all entries, 0 the highest; empty columns last.

        Equal ones come in an order of the vocabulary that was drawn once, the same for every ranking: in its own order
        one that says nothing would still name frequent tokens first.
        """
        table = self._table(scores[self._active].double()).masked_fill(~self.filled, -torch.inf)
        drawn = torch.randperm(self.model.vocab_size, generator=torch.Generator().manual_seed(TEST_SEED))
        by_chance = torch.argsort(drawn[self._token], dim=1)  # (R, n)
        order = torch.argsort(table.gather(1, by_chance), dim=1, descending=True, stable=True)
        return torch.argsort(by_chance.gather(1, order), dim=1)

    def logits(self, row: Tensor, sets: Tensor) -> Tensor:
        """(M, C) of row number (M,) with only the tokens of a set (M, n) kept."""
        each = len(self.model.labels) * self.model.config.hidden_size
        parts = zip(*(t.split(max(1, FLOATS_AT_A_TIME // each)) for t in (row, sets)), strict=True)
        return torch.cat([self._decide(*part) for part in parts])

    def _decide(self, row: Tensor, sets: Tensor) -> Tensor:
        number, column = sets.nonzero(as_tuple=True)
        token, value = (table[row[number], column] for table in (self._token, self._value))
        number, token, value = (each.to(self.model.device) for each in (number, token, value))
        kept = SparseRows(number, token, torch.zeros_like(number), value, len(row), self.model.vocab_size)
        return self.model.decide(kept).logits.cpu()

    def probability(self, row: Tensor, sets: Tensor) -> Tensor:
        """(M,) of the row's class, with only the tokens of a set (M, n) kept."""
        return of_classes(self.logits(row, sets), self.classes[row])


def of_classes(logits: Tensor, classes: Tensor) -> Tensor:
    """(R,) the probability of one class a row, in float64: near 1 the digits of float32 run out."""
    return logits.double().softmax(-1).gather(1, classes[:, None])[:, 0]


@dataclass(frozen=True)
class Erased:
    """What is left of each row's class when its highest k tokens are removed, and when they alone are kept.

    A row without active tokens has nothing to remove: `counts` and `sizes` are 0 there, and every change is 0.
    """

    counts: Tensor
    """(R,) active tokens."""
    sizes: Tensor
    """(R, K) tokens removed or kept, the columns as in SIZES; no more than there are."""
    full: Tensor
    """(R,) probability of the class with all tokens."""
    without: Tensor
    """(R, K) the same without the highest k."""
    alone: Tensor
    """(R, K) the same with the highest k alone."""
    flipped: Tensor
    """(R, K) bool: without the highest k another class is the most probable one."""

    @property
    def comprehensiveness(self) -> Tensor:
        """(R, K) p(all) − p(all without the highest k): high if the highest were needed."""
        return self.full[:, None] - self.without

    @property
    def sufficiency(self) -> Tensor:
        """(R, K) p(all) − p(the highest k): low if the highest are enough."""
        return self.full[:, None] - self.alone

    @cached_property
    def counted(self) -> Tensor:
        """(R, S) bool: the columns of shares that are another number of tokens than the share before."""
        sizes = self.sizes[:, : len(SHARES)]
        return torch.cat([torch.ones_like(sizes[:, :1], dtype=torch.bool), sizes[:, 1:] != sizes[:, :-1]], 1)

    def aopc(self, changes: Tensor) -> Tensor:
        """(R,) area over the perturbation curve: mean of the changes (R, K) over the numbers of tokens that the shares
        come to, each once."""
        return (changes[:, : len(SHARES)] * self.counted).sum(1) / self.counted.sum(1)


def removed_sizes(counts: Tensor) -> Tensor:
    """(R, K) how many of a row's tokens (R,) each of SIZES comes to."""
    columns = [circuit_size(counts, size) if isinstance(size, float) else counts.clamp(max=size) for size in SIZES]
    return torch.stack(columns, 1)


@torch.no_grad()
def erase(model: LexicalModel, state: CircuitState, classes: Tensor, scores: Tensor) -> Erased:
    """Remove, and keep alone, the tokens of each row that score highest, more and more of them.

    Args:
        classes: (R,) whose probability is looked at.
        scores: (N,) of the state's entries, such as an explainer's attributions to the classes.
    """
    tokens = TokenSets(model, state.rows, classes)
    sizes = removed_sizes(tokens.counts)  # (R, K)
    highest = tokens.ranks(scores)[:, None] < sizes[..., None]  # (R, K, n)
    row = torch.arange(len(sizes)).repeat_interleave(sizes.shape[1])
    without = tokens.logits(row, (tokens.filled[:, None] & ~highest).flatten(0, 1))  # (R·K, C)
    logits = state.logits.cpu()
    return Erased(
        counts=tokens.counts,
        sizes=sizes,
        full=of_classes(logits, tokens.classes),
        without=of_classes(without, tokens.classes[row]).view_as(sizes),
        alone=tokens.probability(row, highest.flatten(0, 1)).view_as(sizes),
        flipped=(without.argmax(-1) != logits.argmax(-1)[row]).view_as(sizes),
    )


@dataclass(frozen=True)
class SpeakingRows:
    """The rows of a batch that have reasons to remove: active tokens, and a class worth naming a reason for."""

    state: CircuitState
    attribution: SparseRows
    classes: Tensor
    """(R,)."""
    places: np.ndarray
    """(R,) their numbers among the labels of the split."""
    silent: int
    """Rows that were left out because they have no active token."""

    @classmethod
    def of(cls, task: Task, seen: Seen) -> SpeakingRows:
        rows = task.reasoned(seen.classes)
        rows = torch.arange(len(seen.classes), device=seen.classes.device) if rows is None else rows
        speaks = seen.state.rows.sum_rows((seen.state.rows.value > 0).float())[rows] > 0
        chosen = rows[speaks]
        return cls(
            seen.state.take(chosen),
            seen.attribution.take(chosen),
            seen.classes[chosen],
            seen.batch.places[chosen.cpu().numpy()],
            int((~speaks).sum()),
        )
