"""Explainers at the bottleneck of our own model: each ranks the active vocabulary tokens, and only the head runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.naopc import AOPCBounds, aopc_bounds
from splade.evaluation.removal import erase
from splade.explainers import Explainer, Subject, WordText
from splade.explainers.subject import ReadBatch
from splade.models.protocol import LexicalModel, is_lexical
from splade.models.state import CircuitState


@dataclass(frozen=True)
class _Rows:
    """Some texts that have active tokens."""

    numbers: Tensor
    """(R,) of the texts."""
    state: CircuitState
    classes: Tensor
    """(R,)."""
    bounds: AOPCBounds


class Bottleneck:
    """The active tokens of some texts, with the bounds of what removing them in any order can do."""

    def __init__(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]):
        assert is_lexical(subject.model)
        self.model: LexicalModel = subject.model
        self.texts = len(texts)
        self._rows = [rows for batch in subject.read(texts) if (rows := self._read(subject, batch, classes))]

    @torch.no_grad()
    def _read(self, subject: Subject, batch: ReadBatch, classes: Sequence[int]) -> _Rows | None:
        state = subject.state(batch)
        speaks = state.rows.counts.nonzero()[:, 0]  # (R,)
        if not len(speaks):
            return None
        numbers = torch.tensor(batch.rows)[speaks.cpu()]
        of_rows = torch.tensor(classes)[numbers].to(speaks.device)
        state = state.take(speaks)
        return _Rows(numbers, state, of_rows, aopc_bounds(self.model, state, of_rows))

    @torch.no_grad()
    def values(self, explainer: Explainer, most: int) -> np.ndarray | None:
        """(n, 4) AOPC of comprehensiveness and sufficiency and both between their bounds, of the first `most` texts;
        NaN where no token is active, or all orders are alike. None: the explainer cannot rank tokens."""
        found = np.full((min(most, self.texts), 4), np.nan)
        for rows in self._rows:
            chosen = (rows.numbers < most).nonzero()[:, 0].to(rows.classes.device)
            if not len(chosen):
                continue
            state, classes = rows.state.take(chosen), rows.classes[chosen]
            scores = explainer.explain_tokens(self.model, state, classes)
            if scores is None:
                return None
            erased = erase(self.model, state, classes, scores)
            both = erased.aopc(erased.comprehensiveness), erased.aopc(erased.sufficiency)
            between = rows.bounds.take(chosen.cpu()).normalised(erased)
            found[rows.numbers[chosen.cpu()].numpy()] = torch.stack([*both, *between], 1).numpy()
        return found
