"""Explainers at the bottleneck of our own model: each ranks the active vocabulary tokens, and only the head runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.naopc import AOPCBounds, affordable_rows, aopc_bounds
from splade.evaluation.removal import erase
from splade.explainers import Explainer, Subject, WordText
from splade.explainers.subject import ReadBatch
from splade.models.protocol import LexicalModel, is_lexical
from splade.models.state import CircuitState


@dataclass(frozen=True)
class TokenBounds:
    """Bounds of what removing the active tokens of each text can do, in whichever order."""

    ends: list[tuple[float, float, float, float] | None]
    """(N,) the lowest and the highest AOPC of comprehensiveness, and those of sufficiency; None: a text has no active
    token, or so many that looking for bounds would take too long."""

    def of(self, numbers: Tensor) -> AOPCBounds:
        """Of some texts (R,); NaN where there are none."""
        rows = [self.ends[number] or (np.nan,) * 4 for number in numbers.tolist()]
        low, high, least, most = torch.tensor(rows, dtype=torch.float64).unbind(1)
        return AOPCBounds((low, high), (least, most))


@dataclass(frozen=True)
class TokenValues:
    """What an explainer's order of the active tokens is worth on each text."""

    rows: list[list[float | None]] | None
    """(n, 5) AOPC of comprehensiveness and of sufficiency, both between their bounds, and whether one lay beyond; None
    where no token is active, there are no bounds, or all orders are alike. None for all: it cannot rank tokens."""

    @classmethod
    def of(cls, values: np.ndarray | None) -> TokenValues:
        if values is None:
            return cls(None)
        return cls([[None if np.isnan(one) else float(one) for one in row] for row in values])

    @property
    def table(self) -> np.ndarray | None:
        """(n, 5), NaN for what is missing."""
        return None if self.rows is None else np.array(self.rows, dtype=np.float64).reshape(len(self.rows), 5)


@dataclass(frozen=True)
class _Rows:
    """Some texts that have active tokens."""

    numbers: Tensor
    """(R,) of the texts."""
    state: CircuitState
    classes: Tensor
    """(R,)."""

    def take(self, chosen: Tensor) -> _Rows:
        """Some of them, by a mask (R,) on the processor."""
        places = chosen.nonzero()[:, 0]
        there = places.to(self.classes.device)
        return _Rows(self.numbers[places], self.state.take(there), self.classes[there])


class Bottleneck:
    """The active tokens of some texts."""

    def __init__(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]):
        assert is_lexical(subject.model)
        self.model: LexicalModel = subject.model
        self.texts = len(texts)
        self._rows = [rows for batch in subject.read(texts) if (rows := self._read(subject, batch, classes))]

    @torch.no_grad()
    def _read(self, subject: Subject, batch: ReadBatch, classes: Sequence[int]) -> _Rows | None:
        state = subject.state(batch)
        speaks = _active(state).nonzero()[:, 0]  # (R,)
        if not len(speaks):
            return None
        numbers = torch.tensor(batch.rows)[speaks.cpu()]
        return _Rows(numbers, state.take(speaks), torch.tensor(classes)[numbers].to(speaks.device))

    def bounds(self) -> TokenBounds:
        """Of as many texts as are affordable, the first if that is enough (`affordable_rows`)."""
        counts = torch.zeros(self.texts, dtype=torch.long)
        for rows in self._rows:
            counts[rows.numbers] = _active(rows.state).long().cpu()
        speaking = counts.nonzero()[:, 0]
        looked_at = torch.zeros(self.texts, dtype=torch.bool)
        if len(speaking):
            looked_at[speaking[affordable_rows(counts[speaking])]] = True
        ends: list[tuple[float, float, float, float] | None] = [None] * self.texts
        for rows in self._rows:
            chosen = rows.take(looked_at[rows.numbers])
            if not len(chosen.numbers):
                continue
            found = aopc_bounds(self.model, chosen.state, chosen.classes)
            columns = (*found.comprehensiveness, *found.sufficiency)
            for number, *each in zip(chosen.numbers.tolist(), *(column.tolist() for column in columns), strict=True):
                ends[number] = (each[0], each[1], each[2], each[3])
        return TokenBounds(ends)

    @torch.no_grad()
    def values(self, explainer: Explainer, most: int, bounds: TokenBounds) -> np.ndarray | None:
        """(n, 5) of the first `most` texts, as `TokenValues` has them; NaN for what is missing."""
        found = np.full((min(most, self.texts), 5), np.nan)
        for all_rows in self._rows:
            rows = all_rows.take(all_rows.numbers < most)
            if not len(rows.numbers):
                continue
            scores = explainer.explain_tokens(self.model, rows.state, rows.classes)
            if scores is None:
                return None
            erased, within = erase(self.model, rows.state, rows.classes, scores), bounds.of(rows.numbers)
            between = within.normalised(erased)
            beyond = within.beyond(erased).double().where(~between[0].isnan(), torch.nan)
            both = erased.aopc(erased.comprehensiveness), erased.aopc(erased.sufficiency)
            found[rows.numbers.numpy()] = torch.stack([*both, *between, beyond], 1).numpy()
        return found


def _active(state: CircuitState) -> Tensor:
    """(R,) how many tokens of each row are active."""
    return state.rows.sum_rows((state.rows.value > 0).float())


def mean_values(draws: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """(n, 5) the mean of several draws (n, 5) each."""
    known = [values for values in draws if values is not None]
    return np.mean(known, 0) if known else None
