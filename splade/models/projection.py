"""Vocabulary scores without the [B, L, V] tensor.

Two steps. A *scan* in the fastest precision the hardware has finds which few (text, token) pairs can pass the gate and
at which position each scored highest; every tile of scores is thrown away once read. Then `pair_dot` computes the
scores of just those pairs in float32, and only they take part in the backward pass:

    z[b, v] = max_l  h[b, l] · E[v] + bias[v]

A gate with θ ≥ 0 is monotone in z, so gating after the maximum equals gating before it.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.models.sparse import highest_first

# Columns of a scan tile: 2,048 positions × 512 columns of bfloat16 are 2 MB, which stays in a core's cache while it is
# reduced; measured on 2 cores, 256-512 cost 4 % over the bare GEMM, 4,096 cost 40 %.
TILE_COLUMNS = 512

# Positions of a scan are filled up to a multiple of this where any number of them may be live: the processor's library
# keeps a kernel for every shape it met, about 0.3 MB each, and forgets the backbone's when there are too many.
POSITION_STEP = 64

# Pairs gathered at a time: 4,096 pairs × 384 numbers × 2 sides are 12 MB, the most a step of `pair_dot` holds.
PAIR_CHUNK = 4_096


class _PairDot(torch.autograd.Function):
    """out[i] = rows[r_i] · table[t_i] in float32; saves indices and inputs, never the gathered vectors."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, table: Tensor, row: Tensor, entry: Tensor, known: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, table, row, entry)
        if known is not None:
            return known.clone()
        return (_dots_on_cpu if rows.device.type == "cpu" else _dots)(rows, table, row, entry)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        (grad,) = grads
        rows, table, row, entry = ctx.saved_tensors
        # Entries kept only for θ's sake may pass no gradient on: those that do not are not read again.
        felt = grad.nonzero(as_tuple=True)[0]
        if len(felt) < len(grad):
            grad, row, entry = grad[felt], row[felt], entry[felt]
        grad_rows = _weighted_sum(grad, table, entry, row, len(rows)) if ctx.needs_input_grad[0] else None
        grad_table = _weighted_sum(grad, rows, row, entry, len(table)) if ctx.needs_input_grad[1] else None
        return (
            None if grad_rows is None else grad_rows.to(rows.dtype),
            None if grad_table is None else grad_table.to(table.dtype),
            None,
            None,
            None,
        )


def _dots(rows: Tensor, table: Tensor, row: Tensor, entry: Tensor) -> Tensor:
    """The forward pass of `pair_dot`."""
    out = torch.empty(len(row), dtype=torch.float32, device=rows.device)
    for start in range(0, len(row), PAIR_CHUNK):
        part = slice(start, start + PAIR_CHUNK)
        left, right = rows.index_select(0, row[part]), table.index_select(0, entry[part])  # (n, d)
        out[part] = (left.float() * right.float()).sum(1)
    return out


def _dots_on_cpu(rows: Tensor, table: Tensor, row: Tensor, entry: Tensor) -> Tensor:
    """`_dots` without gathering: they are the gradient of `F.embedding_bag` with respect to the weights of its samples,
    for which torch's kernel reads every pair in place, in a fifth of the time."""
    if len(row) == 0:
        return torch.empty(0)
    table, entry = _as_float32(table, entry)
    sum_mode, no_padding = 0, -1
    return torch.ops.aten._embedding_bag_per_sample_weights_backward(
        rows.float(), table, entry, entry.new_empty(0), row, sum_mode, no_padding
    )


def _as_float32(table: Tensor, take: Tensor) -> tuple[Tensor, Tensor]:
    """A table in float32 and where in it the entries `take` are: if it has to be converted, then only what is read."""
    if table.dtype == torch.float32:
        return table, take
    used, take = take.unique(return_inverse=True)
    return table[used].float(), take


def _weighted_sum(weight: Tensor, source: Tensor, take: Tensor, into: Tensor, size: int) -> Tensor:
    """out[r] = Σ_{i: into_i = r} weight_i · source[take_i], in an order that does not depend on threads."""
    out = torch.zeros(size, source.shape[1], dtype=torch.float32, device=source.device)  # (size, d)
    if len(into) == 0:
        return out
    source, take = _as_float32(source, take)
    order = torch.argsort(into, stable=True)
    filled, counts = torch.unique_consecutive(into[order], return_counts=True)
    offsets = counts.cumsum(0) - counts
    sums = F.embedding_bag(
        take[order], source, offsets, mode="sum", per_sample_weights=weight[order].float()
    )  # (filled, d)
    return out.index_copy_(0, filled, sums)


def pair_dot(rows: Tensor, table: Tensor, row: Tensor, entry: Tensor, known: Tensor | None = None) -> Tensor:
    """Dot products of chosen pairs: rows (R, d), table (T, d), row and entry (N,) -> (N,) float32, differentiable.

    `known` (N,): the products, where a scan in float32 has computed them; then only the backward pass is left to do.
    """
    return _PairDot.apply(rows, table, row, entry, known)


@torch.no_grad()
def scan_columns(
    hidden: Tensor, live: Tensor, table: Tensor, floor: Tensor, everywhere: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Find every (text, column) whose best score over the live positions exceeds `floor`.

    hidden (B, L, d) and table (U, d) in the scan's precision, live (B, L) bool, floor (U,) the score to exceed.
    Returns position (N,), flat index b·L + l of the best position, column (N,) and the score there (N,), in the
    scan's precision. Ties go to any one position. With `everywhere` all live positions above `floor` are returned, not
    just the best; positions that are not live then cost nothing.
    """
    if everywhere:
        return _scan_positions(hidden, live, table, floor)
    batch, length, width = hidden.shape
    source = _live_source(live)  # (B, L)
    rows = hidden.reshape(-1, width).index_select(0, source.flatten())  # (B·L, d): dead rows repeat a live one
    # One tile for all: made anew each time, among the small results that stay, they would tear the heap into pieces.
    space = rows.new_empty(len(rows) * min(TILE_COLUMNS, len(table)))
    positions, columns, scores = [], [], []
    for start in range(0, len(table), TILE_COLUMNS):
        part = table[start : start + TILE_COLUMNS]  # (T, d)
        tile = space[: len(rows) * len(part)].view(len(rows), len(part))
        tile = torch.mm(rows, part.T, out=tile).view(batch, length, len(part))  # (B, L, T)
        highest = tile.amax(1)  # (B, T)
        text, column = (highest > floor[start : start + TILE_COLUMNS]).nonzero(as_tuple=True)  # (n,)
        best = tile[text, :, column].argmax(1)  # (n, L) -> (n,)
        positions.append(source[text, best])
        columns.append(column + start)
        scores.append(highest[text, column])
    position, column, score = torch.cat(positions), torch.cat(columns), torch.cat(scores)
    kept = live.flatten()[position]  # a text without any live position proposes nothing
    return position[kept], column[kept], score[kept]


def _scan_positions(hidden: Tensor, live: Tensor, table: Tensor, floor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`scan_columns` with `everywhere`."""
    place = live.flatten().nonzero(as_tuple=True)[0]  # (P,)
    filled = F.pad(place, (0, -len(place) % POSITION_STEP))  # the first position again and again, never read
    rows = hidden.reshape(-1, hidden.shape[-1]).index_select(0, filled)  # (P', d)
    space = rows.new_empty(len(rows) * min(TILE_COLUMNS, len(table)))
    positions, columns, scores = [], [], []
    for start in range(0, len(table), TILE_COLUMNS):
        part = table[start : start + TILE_COLUMNS]  # (T, d)
        tile = torch.mm(rows, part.T, out=space[: len(rows) * len(part)].view(len(rows), len(part)))  # (P', T)
        row, column = (tile[: len(place)] > floor[start : start + TILE_COLUMNS]).nonzero(as_tuple=True)  # (n,)
        positions.append(place[row])
        columns.append(column + start)
        scores.append(tile[row, column])
    return torch.cat(positions), torch.cat(columns), torch.cat(scores)


def _live_source(live: Tensor) -> Tensor:
    """For each position the flat index of a live one that may stand in for it in a maximum: itself, or the first."""
    batch, length = live.shape
    start = torch.arange(batch, device=live.device)[:, None] * length  # (B, 1)
    place = start + torch.arange(length, device=live.device)  # (B, L)
    first = start + live.int().argmax(1, keepdim=True)  # (B, 1)
    return torch.where(live, place, first)


@torch.no_grad()
def best_position(text: Tensor, token: Tensor, score: Tensor, vocab_size: int) -> Tensor:
    """Indices of the highest-scoring entry of each distinct (text, token), ordered by text and then token."""
    if len(text) == 0:
        return text
    by_score = highest_first(score)
    key = (text * vocab_size + token)[by_score]
    sorted_key, by_key = torch.sort(key, stable=True)
    first = torch.ones_like(sorted_key, dtype=torch.bool)
    first[1:] = sorted_key[1:] != sorted_key[:-1]
    return by_score[by_key[first]]
