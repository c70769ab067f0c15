"""Frozen share: would the untrained backbone also put these words there?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from splade.evaluation.figure import Figure
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen

FROZEN_TOP = 100
"""A token counts as proposed by the frozen backbone when it is among its so many highest scores at the position."""

ROUNDING = 1e-5
"""A score that is among the highest may come out a little lower where it is computed alone."""

POSITIONS_AT_A_TIME = 1024
"""Positions scored over the whole vocabulary at a time: 125 MB where it has 30,522 tokens."""


@dataclass(frozen=True)
class FrozenShareResult:
    """What the backbone has to say to it."""

    frozen_share: float
    """Share of |contribution| on tokens among the frozen backbone's highest hundred at their position."""


@MEASURES.register("frozen_share")
class FrozenShare(Measure[FrozenShareResult]):
    """The share of contributions on tokens that the untrained backbone also proposes."""

    title = "Grounding"
    section = "grounding"
    reads = "sample"
    figures = (
        Figure(
            "grounding.frozen_share",
            "on words the backbone proposes",
            "Share of the contribution from tokens that the untrained backbone has among its hundred highest scores at "
            "the same position.",
        ),
    )

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return scope.references.frozen is not None

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._agreed = self._total = 0.0

    @cached_property
    def _decoder(self) -> tuple[Tensor, Tensor]:
        """E (V, d) and b (V,) of the frozen backbone."""
        assert self.scope.references.frozen is not None
        weight, bias = self.scope.references.frozen.decoder()
        return weight.to(self.scope.model.device), bias.to(self.scope.model.device)

    def update(self, seen: Seen) -> None:
        frozen = self.scope.references.frozen
        if frozen is None or len(seen.attribution) == 0:
            return
        weight, bias = self._decoder
        hidden = frozen(seen.batch.input_ids, seen.batch.attention_mask)
        hidden = hidden.reshape(-1, weight.shape[1])  # (B·L, d)
        entry, position, value = seen.attribution.by_position()
        places, inverse = position.unique(return_inverse=True)
        scores = [
            (hidden[part].float() @ weight.T + bias).topk(FROZEN_TOP, dim=1).values[:, -1]
            for part in places.split(POSITIONS_AT_A_TIME)
        ]
        least = torch.cat(scores)[inverse]  # (M,): the hundredth highest at each entry's position
        encoder = self.scope.model.encoder
        token = encoder.base[seen.attribution.token[entry]]
        is_token = token < len(weight)  # a word that the tokenizer splits is scored by its own row
        rows = torch.where(is_token[:, None], weight[token.clamp(max=len(weight) - 1)], encoder.weight[token].float())
        score = (hidden[position].float() * rows).sum(1) + bias[token.clamp(max=len(weight) - 1)] * is_token
        proposed = score >= least - ROUNDING * least.abs()
        size = value.abs()
        self._agreed, self._total = self._agreed + float(size[proposed].sum()), self._total + float(size.sum())

    def result(self) -> FrozenShareResult:
        return FrozenShareResult(self._agreed / self._total if self._total else 0.0)
