"""NAOPC: the area over the perturbation curve between those of the worst and the best order of the same tokens.

How far a probability can fall differs from model to model and from text to text, so that AOPC alone compares neither;
between its own bounds it does (Edin et al. 2025, arXiv:2408.08137).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.data.splits import TEST_SEED
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.orders import is_exact, order_extremes, sets_asked_for
from splade.evaluation.removal import SHARES, Erased, TokenSets, erase, joined, of_classes, removed_sizes
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState

ROWS = 256
"""Rows whose bounds are looked for, a fixed sample; the number used is in the results."""

MOST_SETS = 4_000_000
"""Sets of tokens that are decided on for all bounds together, about 15 seconds: where rows have so many active tokens
that 256 of them would take more, fewer are looked at."""

LEAST_SPREAD = 1e-4
"""If the best order changes the mean probability by less than this against the worst, no order is better than another
by anything that a reader could see."""


@dataclass(frozen=True)
class AOPCBounds:
    """The lowest and the highest AOPC of each row that any order of its tokens has, or that a search has found."""

    comprehensiveness: tuple[Tensor, Tensor]
    """(R,) each."""
    sufficiency: tuple[Tensor, Tensor]
    """(R,) each."""

    def normalised(self, erased: Erased) -> tuple[Tensor, Tensor]:
        """NAOPC of comprehensiveness and of sufficiency: (R,) each."""
        comprehensiveness, sufficiency = erased.aopc(erased.comprehensiveness), erased.aopc(erased.sufficiency)
        return _between(comprehensiveness, *self.comprehensiveness), _between(sufficiency, *self.sufficiency)


def _between(aopc: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """(R,) (AOPC − lower)/(upper − lower), 0 that of the lowest order and 1 that of the highest.

    NaN where all orders are alike. A search may miss the extreme order, and what lies beyond its bounds is put there.
    """
    share = ((aopc - lower) / (upper - lower)).clamp(0, 1)
    return torch.where(upper - lower > LEAST_SPREAD, share, torch.nan)


@torch.no_grad()
def aopc_bounds(model: LexicalModel, state: CircuitState, classes: Tensor) -> AOPCBounds:
    """Over the orders of the active tokens of rows that have some; the same whichever explainer ranks them."""
    tokens = TokenSets(model, state.rows, classes)
    full = of_classes(state.logits.cpu(), tokens.classes)
    sizes = removed_sizes(tokens.counts)[:, : len(SHARES)]

    def drop_without(row: Tensor, sets: Tensor) -> Tensor:
        kept = tokens.filled[row]
        kept[:, : sets.shape[1]] &= ~sets
        return full[row] - tokens.probability(row, kept)

    def drop_with_only(row: Tensor, sets: Tensor) -> Tensor:
        return full[row] - tokens.probability(row, sets)

    return AOPCBounds(
        order_extremes(drop_without, tokens.counts, sizes), order_extremes(drop_with_only, tokens.counts, sizes)
    )


@dataclass(frozen=True)
class NAOPC:
    """AOPC between its bounds; None: no row has bounds that differ."""

    comprehensiveness: Estimate | None
    """1: no order of removal takes more from the prediction."""
    sufficiency: Estimate | None
    """0: no order keeps more of it."""
    random_comprehensiveness: Estimate | None
    """Of a random order."""
    random_sufficiency: Estimate | None
    rows: int
    """Looked at."""
    exact: int
    """Of them, those whose bounds are of all orders; of the others, by a search."""
    level: int
    """Of them, those left out because all orders are alike, as where there is one token."""


class NAOPCMeter:
    """Keeps a fixed sample of the rows it is shown, and gives the NAOPC of their attributions."""

    def __init__(self, model: LexicalModel, labels: int, seed: int):
        """`labels`: of the split, from which rows are drawn, always the same whatever the seed."""
        self.model, self.seed = model, seed
        self._priority = torch.from_numpy(np.random.default_rng(TEST_SEED).permutation(labels))
        self._rows: SparseRows | None = None
        """Attributions of the rows kept, with their values behind one another as two columns."""
        self._values = torch.zeros(0, 2)
        self._classes = self._texts = self._places = torch.zeros(0, dtype=torch.long)

    def add(self, state: CircuitState, attribution: SparseRows, classes: Tensor, texts: Tensor, places: Tensor) -> None:
        """Rows with active tokens, their classes (R,), texts (R,) and numbers among the labels of the split (R,)."""
        parts = [attribution] if self._rows is None else [self._rows, attribution]
        rows = joined([SparseRows(p.row.cpu(), p.token.cpu(), p.position, p.value.cpu(), p.num_rows, p.vocab_size) for p in parts])
        values = torch.cat([self._values, torch.stack([state.rows.value, attribution.value], 1).cpu()])
        fields = [torch.cat(pair) for pair in ((self._classes, classes.cpu()), (self._texts, texts), (self._places, places))]
        kept = self._priority[fields[2]].argsort()[:ROWS].sort().values
        self._values = values[torch.isin(rows.row, kept)]
        self._rows = rows.take(kept)
        self._classes, self._texts, self._places = (each[kept] for each in fields)
