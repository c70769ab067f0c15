"""Ablation: what each active token does to a logit by its absence, which the head decides anew."""

from __future__ import annotations

import torch
from torch import Tensor

from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState

ENTRIES_AT_A_TIME = 2**20
"""Of rows without one token each: some 40 MB."""


@torch.no_grad()
def ablation_effects(model: LexicalModel, state: CircuitState, classes: Tensor) -> SparseRows:
    """The state's entries, with the logit of their row's class (R,) less the logit without the entry as values.

    An entry's attribution is that too, unless its absence opens or closes a hidden unit of the head.
    """
    rows, effects = state.rows, torch.zeros_like(state.rows.value)
    logits = state.logits.gather(1, classes[:, None])[:, 0]  # (R,)
    ends = torch.cumsum(rows.counts[rows.row], 0)  # (N,): entries of the ablated rows up to and with each
    start = 0
    while start < len(rows):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(torch.searchsorted(ends, done + ENTRIES_AT_A_TIME, right=True)))
        owner = rows.row[start:stop]
        without = model.decide(_without_each(rows, start, stop)).logits  # (stop − start, C)
        effects[start:stop] = logits[owner] - without.gather(1, classes[owner, None])[:, 0]
        start = stop
    return rows.with_value(effects)


def _without_each(rows: SparseRows, start: int, stop: int) -> SparseRows:
    """A row for each of the entries from `start` to `stop`: the one that it is of, without it."""
    missing = torch.arange(start, stop, device=rows.row.device)
    owner = rows.row[missing]
    counts = rows.counts[owner]
    row = torch.repeat_interleave(torch.arange(len(missing), device=missing.device), counts)
    within = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    entry = rows.offsets[owner][row] + within
    kept = entry != missing[row]
    row, entry = row[kept], entry[kept]
    return SparseRows(row, rows.token[entry], rows.position[entry], rows.value[entry], len(missing), rows.vocab_size)


def participation(rows: SparseRows) -> Tensor:
    """(R,) (‖a‖₁/‖a‖₂)² of each row's values a: as how many equal ones they are; NaN for a row of zeros.

    1 if one value is all there is, n if n are alike.
    """
    return rows.sum_rows(rows.value.abs()) ** 2 / rows.sum_rows(rows.value**2)
