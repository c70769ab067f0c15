"""Capped taggers: what does it cost to keep only a word's most active tokens?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from splade.evaluation.entity_scores import entity_scores
from splade.evaluation.figure import Figure, Key, beside
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.models.state import CircuitState
from splade.tasks import Batch, TaggingTask

TOP_K = (20, 200)
"""Caps on a word's active tokens whose price is measured."""


@dataclass(frozen=True)
class CappedAt:
    """A tagger whose words keep only their most active tokens."""

    f1: float
    active_tokens: float
    """Mean a word."""
    capped: float
    """Share of words that had more; the others are as they were."""


@dataclass(frozen=True)
class CappedResult:
    """What is left of a tagger under each cap, and without the decoding of whole sentences."""

    argmax_f1: float
    """F1 of each word's most probable tag, whether or not the sequence is a possible one."""
    topk_per_position: dict[int, CappedAt]


def _figure(k: int) -> Figure:
    return Figure(
        f"topk_per_position.{k}.f1",
        f"entity F1, {k} tokens",
        f"When no word may keep more than its {k} most active tokens.",
        better="higher",
        headline=True,
        beside=beside("{} of words had more", f"topk_per_position.{k}.capped"),
    )


@MEASURES.register("capped")
class Capped(Measure[CappedResult]):
    """Entity F1 of a tagger whose words keep only so many tokens."""

    title = "Entities by type"
    tasks = ("tagging",)
    reads = "every row"
    figures = (
        *(_figure(k) for k in TOP_K),
        Figure(
            "argmax_f1",
            "entity F1, undecoded",
            "F1 of each word's most probable tag, impossible sequences included.",
            brief=False,
        ),
    )
    keys = (
        Key(
            "topk_per_position.<k>.{f1,active_tokens,capped}",
            "when a word keeps at most its k most active tokens; `capped`: share of words that had more",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        shape = len(scope.task.labels), len(scope.model.labels)
        self._logits = {k: torch.zeros(shape) for k in TOP_K}
        self._counts: list[Tensor] = []

    def predicted(self, batch: Batch, state: CircuitState) -> None:
        places = torch.from_numpy(batch.places)
        for k, logits in self._logits.items():
            kept = state.rows.select(state.rows.most_active(k))
            logits[places] = self.scope.model.decide(kept).logits.cpu()
        self._counts.append(state.rows.counts.cpu())

    def result(self) -> CappedResult:
        task, whole = self.scope.task, self.scope.logits
        assert isinstance(task, TaggingTask) and whole is not None
        active = torch.cat(self._counts).numpy()
        capped = {
            k: CappedAt(task.score(logits), float(active.clip(max=k).mean()), float((active > k).mean()))
            for k, logits in self._logits.items()
        }
        return CappedResult(entity_scores(task, whole.argmax(-1).numpy()).f1, capped)
