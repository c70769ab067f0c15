"""NAOPC: the area over the perturbation curve between those of the worst and the best order of the same tokens.

How far a probability can fall differs from model to model and from text to text, so that AOPC alone compares neither;
between its own bounds it does (Edin et al. 2025, arXiv:2408.08137).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.data.splits import TEST_SEED
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.orders import is_coarse, is_exact, order_extremes, sets_asked_for
from splade.evaluation.removal import SHARES, Erased, TokenSets, erase, of_classes, removed_sizes
from splade.explainers import CHANCE_DRAWS
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState

ROWS = 256
"""Rows whose bounds are looked for, a fixed sample; the number used is in the results."""

MOST_ENTRIES = 100_000_000
"""Active tokens in all sets that are decided on for the bounds, about 15 seconds of a processor. 256 rows of 25 tokens
need a third of it; where rows have so many tokens that 256 of them would need more, fewer are looked at."""

FEWEST_ROWS = 5
"""Rows that are looked at whatever it takes, up to ten times as long: those with the fewest tokens; one in any case."""

LEAST_SPREAD = 1e-4
"""If the best order changes the mean probability by less than this against the worst, no order is better than another
by anything that a reader could see."""

ROUNDING = 1e-6
"""Of a probability's change; an AOPC that lies further outside of its bounds shows that a search has missed the extreme
order."""


@dataclass(frozen=True)
class AOPCBounds:
    """The lowest and the highest AOPC of each row that any order of its tokens has, or that a search has found."""

    comprehensiveness: tuple[Tensor, Tensor]
    """(R,) each."""
    sufficiency: tuple[Tensor, Tensor]
    """(R,) each."""

    def take(self, rows: Tensor) -> AOPCBounds:
        """Of some rows (K,)."""
        (low, high), (least, most) = self.comprehensiveness, self.sufficiency
        return AOPCBounds((low[rows], high[rows]), (least[rows], most[rows]))

    def normalised(self, erased: Erased) -> tuple[Tensor, Tensor]:
        """NAOPC of comprehensiveness and of sufficiency: (R,) each."""
        comprehensiveness, sufficiency = erased.aopc(erased.comprehensiveness), erased.aopc(erased.sufficiency)
        return _between(comprehensiveness, *self.comprehensiveness), _between(sufficiency, *self.sufficiency)

    def beyond(self, erased: Erased) -> Tensor:
        """(R,) bool: rows in which either AOPC lies outside of the bounds that a search has found."""
        aopcs = erased.aopc(erased.comprehensiveness), erased.aopc(erased.sufficiency)
        outside = [
            ((aopc < lower - ROUNDING) | (aopc > upper + ROUNDING)) & (upper - lower > LEAST_SPREAD)
            for aopc, (lower, upper) in zip(aopcs, (self.comprehensiveness, self.sufficiency), strict=True)
        ]
        return outside[0] | outside[1]


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
    """Of a random order."""
    rows: int
    """Looked at."""
    exact: int
    """Of them, those whose bounds are of all orders; of the others, by a search."""
    coarse: int
    """Of them, those of so many tokens that their bounds are of two orders alone: by what each token does alone."""
    level: int
    """Of them, those left out because all orders are alike, as where there is one token."""
    clamped: int
    """Of them, those in which our order lay beyond the bounds that the search had found, and was put at the bound."""


@dataclass(frozen=True)
class _Row:
    """A row that is kept."""

    priority: int
    """Among all rows; the lowest are kept."""
    token: Tensor
    """(n,)."""
    value: Tensor
    """(n,)."""
    score: Tensor
    """(n,) what ranks the tokens."""
    kind: int
    """Its class."""
    text: int


class NAOPCMeter:
    """Keeps a sample of the rows it is shown, and gives the NAOPC of their attributions."""

    def __init__(self, model: LexicalModel, labels: int, seed: int):
        """`labels`: how many the split has; which rows are kept follows from their numbers, whatever the seed."""
        self.model, self.seed = model, seed
        self._priority = np.random.default_rng(TEST_SEED).permutation(labels)
        self._kept: list[_Row] = []

    def add(self, rows: SparseRows, scores: Tensor, classes: Tensor, texts: np.ndarray, places: np.ndarray) -> None:
        """Rows with active tokens, scores (N,) of their entries, their classes, their texts, and their numbers among
        the labels of the split (R,)."""
        priority = self._priority[places]
        for number in np.argsort(priority)[:ROWS].tolist():
            mine = (rows.row == number) & (rows.value > 0)
            token, value, score = (each[mine].cpu() for each in (rows.token, rows.value, scores))
            row = _Row(int(priority[number]), token, value, score, int(classes[number]), int(texts[number]))
            self._kept.append(row)
        self._kept = sorted(self._kept, key=lambda row: row.priority)[:ROWS]

    def result(self) -> NAOPC:
        sample = self._affordable()
        if not sample:
            return NAOPC(None, None, None, None, rows=0, exact=0, coarse=0, level=0, clamped=0)
        rows, scores = _joined(sample, self.model)
        classes, state = torch.tensor([row.kind for row in sample]), self.model.decide(rows)
        bounds = aopc_bounds(self.model, state, classes)
        ours = erase(self.model, state, classes, scores)
        generator = torch.Generator().manual_seed(self.seed)
        draws = [torch.rand(len(scores), generator=generator).to(scores.device) for _ in range(CHANCE_DRAWS)]
        chance = [bounds.normalised(erase(self.model, state, classes, draw)) for draw in draws]
        columns = (*bounds.normalised(ours), *(torch.stack(each).mean(0) for each in zip(*chance, strict=True)))
        values = torch.stack(columns, 1).numpy()  # (R, 4)
        mean, kept, by_chance, kept_by_chance = estimates(values, np.array([row.text for row in sample]), self.seed)
        return NAOPC(
            *(mean, kept, by_chance, kept_by_chance),
            rows=len(sample),
            exact=int(is_exact(rows.counts).sum()),
            coarse=int(is_coarse(rows.counts).sum()),
            level=int(np.isnan(values[:, 0]).sum()),
            clamped=int(bounds.beyond(ours).sum()),
        )

    def _affordable(self) -> list[_Row]:
        """As many of the rows kept as may be looked at."""
        counts = torch.tensor([len(row.token) for row in self._kept], dtype=torch.long)
        return [self._kept[number] for number in affordable_rows(counts).tolist()]


def affordable_rows(counts: Tensor) -> Tensor:
    """(K,) the first of some rows with so many tokens (R,) whose bounds may be looked for; where these are too few,
    those of all rows with the fewest tokens."""
    largest = removed_sizes(counts)[:, len(SHARES) - 1]
    entries = 2 * sets_asked_for(counts, largest) * counts  # of tokens removed, and of tokens kept
    first = int((entries.cumsum(0) <= MOST_ENTRIES).sum())
    if first >= min(FEWEST_ROWS, len(counts)):
        return torch.arange(first)
    fewest = torch.argsort(entries, stable=True)[:FEWEST_ROWS]
    within = int((entries[fewest].cumsum(0) <= 10 * MOST_ENTRIES).sum())
    return fewest[: max(1, within)].sort().values


def _joined(sample: Sequence[_Row], model: LexicalModel) -> tuple[SparseRows, Tensor]:
    """Sparse rows and the scores of their entries."""
    lengths = torch.tensor([len(row.token) for row in sample])
    row = torch.arange(len(sample)).repeat_interleave(lengths)
    token, value, scores = (torch.cat([getattr(r, name) for r in sample]) for name in ("token", "value", "score"))
    row, token, value, scores = (each.to(model.device) for each in (row, token, value, scores))
    return SparseRows(row, token, torch.zeros_like(row), value, len(sample), model.vocab_size), scores
