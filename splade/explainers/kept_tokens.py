"""What a model says when only some of a text's active vocabulary tokens are kept: only the head is asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows

ENTRIES_AT_A_TIME = 200_000
"""Entries that a head is given at once: a few megabytes."""


@torch.no_grad()
def logits_of_kept(model: LexicalModel, row: SparseRows, kept: Sequence[Collection[int]]) -> Tensor:
    """(K, C) logits of one row with some of its entries alone, by number; K such choices."""
    out, at_a_time = [], max(1, ENTRIES_AT_A_TIME // max(1, len(row)))
    for start in range(0, len(kept), at_a_time):
        chosen = torch.zeros(len(kept[start : start + at_a_time]), len(row), dtype=torch.bool)  # (n, N)
        for choice, entries in zip(chosen, kept[start : start + at_a_time], strict=True):
            choice[list(entries)] = True
        copy, entry = (each.to(row.value.device) for each in chosen.nonzero(as_tuple=True))
        rows = SparseRows(
            copy, row.token[entry], row.position[entry], row.value[entry].detach(), len(chosen), row.vocab_size
        )
        out.append(model.decide(rows).logits.cpu())
    return torch.cat(out) if out else torch.zeros(0, len(model.labels))
