"""LEACE on tokens: groups taken out of the columns of a sparse code that fire often enough.

What comes out is no code of words any more: erasing adds to every token of the chosen columns, in every row, a little
of either sign. The code is dense and signed there, and a prediction is no short sum of words that the text holds. That
is the price that suppression, which only takes summands away, does not ask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from splade.errors import DataError
from splade.evaluation.concept_eraser import ConceptEraser
from splade.models.sparse import SparseRows

FEWEST_ROWS = 10
"""Rows that a token must fire in to be erased from: of fewer, a covariance is noise."""

MOST_COLUMNS = 2_048
"""Tokens erased from, those that fire most often: their covariance has 34 MB, that of a vocabulary 7 GB or more."""

Matrix = Any
"""(R, V) a sparse matrix of scipy, which is slow to load."""


@dataclass(frozen=True)
class TokenEraser:
    """What takes groups out of sparse codes; the code that comes out is dense and signed in `columns`."""

    columns: np.ndarray
    """(K,) the tokens erased from, ascending."""
    vocab_size: int
    on_columns: ConceptEraser
    """Of (..., K)."""
    outside: dict[str, float]
    """By group, the largest |correlation| of a token that fires too seldom to be erased from: it is left as it was."""

    def of_matrix(self, code: Matrix) -> Matrix:
        """Codes (R, V) without the groups; R·K numbers are stored, so that some thousand rows at a time are best."""
        from scipy.sparse import csr_matrix  # slow to load

        self._check(code.shape[1])
        entries = code.tocoo()
        kept = ~np.isin(entries.col, self.columns)
        block = self.on_columns(code.tocsr()[:, self.columns].toarray())  # (R, K)
        row = np.repeat(np.arange(len(block)), len(self.columns))
        column = np.tile(self.columns, len(block))
        values = np.concatenate([entries.data[kept], block.ravel()])
        places = np.concatenate([entries.row[kept], row]), np.concatenate([entries.col[kept], column])
        return csr_matrix((values, places), shape=code.shape)

    def __call__(self, rows: SparseRows) -> SparseRows:
        """Sparse rows without the groups, for `model.decide`.

        Words are not to be scored by them: a token that did not fire in a row has no position that it came from, and
        gets that of the row's first entry.
        """
        self._check(rows.vocab_size)
        device, width = rows.value.device, len(self.columns)
        columns = torch.from_numpy(self.columns).to(device)
        number = torch.full((rows.vocab_size,), -1, device=device)
        number[columns] = torch.arange(width, device=device)
        inside = number[rows.token] >= 0
        place = rows.row[inside] * width + number[rows.token[inside]]
        block = rows.value.new_zeros(rows.num_rows * width).index_add(0, place, rows.value[inside])  # (R·K,)
        first = torch.zeros(rows.num_rows, dtype=rows.position.dtype, device=device)
        filled = rows.counts > 0
        first[filled] = rows.position[rows.offsets[filled]]
        position = first.repeat_interleave(width)
        position[place] = rows.position[inside]
        row = torch.arange(rows.num_rows, device=device).repeat_interleave(width)
        erased = self.on_columns(block.view(rows.num_rows, width)).flatten()
        added = (row, columns.repeat(rows.num_rows), position, erased)
        kept = (rows.row[~inside], rows.token[~inside], rows.position[~inside], rows.value[~inside])
        row, token, position, value = (torch.cat(pair) for pair in zip(kept, added, strict=True))
        order = torch.argsort(row * rows.vocab_size + token)
        row, token, position, value = (each[order] for each in (row, token, position, value))
        return replace(rows, row=row, token=token, position=position, value=value, parts=None)

    def _check(self, columns: int) -> None:
        if columns != self.vocab_size:
            raise DataError(
                f"The eraser was fitted on codes of {self.vocab_size} tokens, but these have {columns}; give codes of "
                "the same model."
            )


def active_columns(code: Matrix, fewest: int = FEWEST_ROWS, most: int = MOST_COLUMNS) -> np.ndarray:
    """(K,) the tokens that fire in `fewest` rows of (R, V) or more, at most `most` of them, the frequent ones."""
    rows = code.tocsr()
    firing = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])  # (V,)
    order = np.argsort(-firing, kind="stable")[:most]
    columns: np.ndarray = np.sort(order[firing[order] >= max(fewest, 1)])
    if not len(columns):
        raise DataError(
            f"No token fires in {fewest} or more of {rows.shape[0]} rows, so that there is nothing to erase from; give "
            "more texts, or a lower `fewest`."
        )
    return columns


def largest_correlations(code: Matrix, members: np.ndarray) -> np.ndarray:
    """(G,) the largest |correlation| of a column of (R, V) with groups (R, G)."""
    rows, groups = code.tocsr().astype(np.float64), members.astype(np.float64)
    mean, share = np.asarray(rows.mean(0)).ravel(), groups.mean(0)
    variance = np.asarray(rows.multiply(rows).mean(0)).ravel() - mean**2  # (V,)
    covariance = rows.T @ groups / len(groups) - mean[:, None] * share  # (V, G)
    scale = np.sqrt(np.maximum(variance, 0))[:, None] * np.sqrt(share * (1 - share))
    found = np.divide(np.abs(covariance), scale, out=np.zeros_like(covariance), where=scale > 1e-12)
    largest: np.ndarray = found.max(0, initial=0.0)
    return largest
