"""Sparsity: how many words an explanation holds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.figure import MEAN, SHARE, Drawing, Figure, Histogram, Key, Results, find, is_number
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen, as_json

MOST_BINS = 30
"""Bars of the histogram."""


@dataclass(frozen=True)
class ActiveTokens:
    """How many vocabulary tokens a row, a text or a labelled word, has active."""

    mean: float
    p50: float
    p95: float
    max: int
    histogram: dict[str, list[int | float]]


@dataclass(frozen=True)
class SparsityResult:
    """The active tokens of all rows, and of those that the task sets apart."""

    active_tokens: ActiveTokens
    sparsity: float
    """Share of the vocabulary that is silent in an average row."""
    subsets: dict[str, ActiveTokens | None]
    """By name; None: there are no such rows."""


def active_tokens(counts: np.ndarray) -> ActiveTokens:
    """The spread of the active tokens of each row (R,)."""
    heights, edges = np.histogram(counts, bins=min(MOST_BINS, max(1, int(counts.max()) + 1)))
    return ActiveTokens(
        float(counts.mean()),
        float(np.percentile(counts, 50)),
        float(np.percentile(counts, 95)),
        int(counts.max()),
        {"edges": edges.tolist(), "counts": heights.tolist()},
    )


def _beside(key: str) -> Any:
    def spread(results: Results) -> str:
        size, p95 = results.get("vocab_size"), find(results, f"{key}.p95")
        parts = [f"of {size:,}" if is_number(size) else "", f"95 % have at most {p95:.0f}" if is_number(p95) else ""]
        return ", ".join(part for part in parts if part)

    return spread


def _histogram(results: Results) -> Histogram | None:
    active = results.get("active_tokens") or {}
    histogram = active.get("histogram") or {}
    edges, counts = histogram.get("edges") or [], histogram.get("counts") or []
    if not counts or len(edges) != len(counts) + 1:
        return None
    marks = {"mean": active.get("mean"), "95 % have at most": active.get("p95")}
    shown = {name: value for name, value in marks.items() if is_number(value)}
    return Histogram("active tokens in a {unit}", "{units}", edges, counts, shown)


@MEASURES.register("sparsity")
class Sparsity(Measure[SparsityResult]):
    """The number of active tokens."""

    title = "Sparsity"
    about = "The fewer tokens are active, the shorter the sum to read."
    figures = (
        Figure(
            "active_tokens.mean",
            "active tokens a {unit}",
            "Vocabulary tokens with a say in a {unit}, on average: all that an explanation holds.",
            MEAN,
            headline=True,
            column="active_tokens",
            panel=True,
            beside=_beside("active_tokens"),
        ),
        Figure(
            "active_tokens_entities.mean",
            "active tokens a {unit} of an entity",
            "Vocabulary tokens with a say in a word of an entity, on average: the many words outside any have fewer.",
            MEAN,
            headline=True,
            beside=_beside("active_tokens_entities"),
        ),
        Figure(
            "sparsity",
            "silent vocabulary",
            "Share of the vocabulary that is silent in an average {unit}.",
            SHARE,
            brief=False,
        ),
    )
    drawings = (
        Drawing(
            "sparsity",
            "Active tokens in a {unit}",
            "How many {units} have how many active tokens: the fewer, the shorter the explanation to read.",
            _histogram,
        ),
    )
    keys = (
        Key("active_tokens.{mean,p50,p95,max,histogram}", "vocabulary tokens active in a {unit}"),
        Key(
            "active_tokens_entities.{mean,p50,p95,max,histogram}",
            "vocabulary tokens active in a word of an entity; null: there are none",
        ),
        Key(
            "vocab_size",
            "tokens, split words of the training texts and further senses of some, that could be; with `model.context` "
            "each once an offset",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._counts: list[Tensor] = []
        self._of_subsets: defaultdict[str, list[Tensor]] = defaultdict(list)

    def update(self, seen: Seen) -> None:
        counts = seen.attribution.counts.cpu()  # (R,)
        self._counts.append(counts)
        for name, rows in self.scope.task.subsets(seen.batch.labels).items():
            self._of_subsets[name].append(counts[rows.cpu()])

    def result(self) -> SparsityResult:
        counts = torch.cat(self._counts).numpy()
        of_subsets = {name: torch.cat(parts).numpy() for name, parts in self._of_subsets.items()}
        return SparsityResult(
            active_tokens(counts),
            1 - float(counts.mean()) / self.scope.columns,
            {name: active_tokens(part) if len(part) else None for name, part in of_subsets.items()},
        )

    @staticmethod
    def to_json(result: SparsityResult) -> dict[str, Any]:
        of_subsets = {f"active_tokens_{name}": as_json(active) for name, active in result.subsets.items()}
        return {"active_tokens": as_json(result.active_tokens), "sparsity": result.sparsity, **of_subsets}
