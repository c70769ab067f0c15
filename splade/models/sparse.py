"""Sparse rows over the vocabulary: what stands for a [R, V] matrix of which a few entries a row are not zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Parts:
    """Where entries came from, when an entry came from several positions: (entry, position, share), sorted by entry."""

    entry: Tensor
    """(M,) index of the entry, ascending."""
    position: Tensor
    """(M,) flat input position b·L + l; none occurs twice for an entry."""
    share: Tensor
    """(M,) share of the entry's value that arose there; they sum to 1 for every entry that is not 0. Constants."""


@dataclass(frozen=True)
class SparseRows:
    """Entries (row, token, position, value), sorted by row and then token; no (row, token) occurs twice.

    A row is a text (classification) or a labelled word (tagging). `position` is the flat index b·L + l of the input
    position an entry came from, or most of it; what needs the whole truth, such as exact scores of words, asks
    `by_position`.
    """

    row: Tensor
    """(N,) which row each entry belongs to, ascending."""
    token: Tensor
    """(N,) vocabulary id."""
    position: Tensor
    """(N,) flat input position b·L + l, where there are several the one that most of the value came from."""
    value: Tensor
    """(N,) float32."""
    num_rows: int
    vocab_size: int
    parts: Parts | None = None
    """Where entries came from; None: each from its one position."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def counts(self) -> Tensor:
        """(R,) number of entries a row."""
        return torch.bincount(self.row, minlength=self.num_rows)

    @property
    def offsets(self) -> Tensor:
        """(R,) index of each row's first entry."""
        counts = self.counts
        return counts.cumsum(0) - counts

    def with_value(self, value: Tensor) -> SparseRows:
        """The same entries with other values."""
        return replace(self, value=value)

    def select(self, keep: Tensor) -> SparseRows:
        """The entries where `keep` (N,) is true."""
        row, token, position, value = (each[keep] for each in (self.row, self.token, self.position, self.value))
        parts = self.parts
        if parts is not None:
            index, kept = keep.cumsum(0) - 1, keep[parts.entry]
            parts = Parts(index[parts.entry[kept]], parts.position[kept], parts.share[kept])
        return replace(self, row=row, token=token, position=position, value=value, parts=parts)

    def take(self, rows: Tensor) -> SparseRows:
        """Some rows, by ascending number (K,), with all their entries."""
        number = torch.full((self.num_rows,), -1, device=rows.device)
        number[rows] = torch.arange(len(rows), device=rows.device)
        kept = self.select(number[self.row] >= 0)
        return replace(kept, row=number[kept.row], num_rows=len(rows))

    def most_active(self, k: int) -> Tensor:
        """(N,) bool: the k entries of each row with the highest values; all of a row with no more than k."""
        return self.rank_in_row(self.value.detach()) < k

    def by_position(self) -> tuple[Tensor, Tensor, Tensor]:
        """The values by where they arose: entry, position and value (M,), sorted by entry; they sum to the values."""
        if self.parts is None:
            return torch.arange(len(self), device=self.row.device), self.position, self.value
        parts = self.parts
        return parts.entry, parts.position, self.value.index_select(0, parts.entry) * parts.share

    def sum_rows(self, value: Tensor | None = None) -> Tensor:
        """(R,) sum of a per-entry quantity, the values by default, over each row."""
        value = self.value if value is None else value
        return torch.zeros(self.num_rows, dtype=value.dtype, device=value.device).index_add(0, self.row, value)

    def normalised(self) -> SparseRows:
        """With values of length 1 a row; a row of zeros stays one."""
        length = self.sum_rows(self.value**2).clamp(min=1e-12).sqrt()  # (R,)
        return self.with_value(self.value / length[self.row])

    def rank_in_row(self, score: Tensor) -> Tensor:
        """(N,) rank of each entry within its row by descending score, 0 the highest; ties by vocabulary order."""
        by_score = highest_first(score)
        by_row = by_score[torch.argsort(self.row[by_score], stable=True)]  # entries grouped by row, best first
        rank = torch.empty_like(self.row)
        rank[by_row] = torch.arange(len(self), device=self.row.device) - self.offsets[self.row[by_row]]
        return rank

    def to_dense(self) -> Tensor:
        """(R, V), built anew each time."""
        flat = torch.zeros(self.num_rows * self.vocab_size, dtype=self.value.dtype, device=self.value.device)
        flat = flat.index_add(0, self.row * self.vocab_size + self.token, self.value)
        return flat.view(self.num_rows, self.vocab_size)


def highest_first(score: Tensor) -> Tensor:
    """The order (N,) of scores (N,) in float32 from the highest to the lowest, equal ones as they came.

    `torch.argsort` by way of integers in the same order, which a CPU sorts by their digits: 400,000 scores in a sixth
    of the time.
    """
    bits = (score.float() + 0.0).view(torch.int32)  # −0 becomes 0; as integers, positive floats keep their order …
    return torch.argsort(~(bits ^ (bits >> 31 & 0x7FFFFFFF)), stable=True)  # … and negative ones theirs reversed


def group_log_softmax(score: Tensor, group: Tensor, groups: int) -> Tensor:
    """(M,) log softmax within each group of entries; `group` (M,)."""
    highest = torch.full((groups,), -torch.inf, device=score.device).scatter_reduce(0, group, score.detach(), "amax")
    score = score - highest[group]
    return score - score.new_zeros(groups).index_add(0, group, score.exp()).log()[group]
