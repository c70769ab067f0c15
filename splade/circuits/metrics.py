"""How complete and how separate the circuits of a model are, measured on held-out texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.circuits.core import circuit_mask, circuit_size
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState

CLASS_CIRCUIT = 100
"""Tokens of a class's circuit when two classes' circuits are compared as sets."""

SAMPLED_PAIRS = 2_000
"""Pairs of texts of one class whose circuits are compared as sets."""


Size = TypeVar("Size", float, int)
"""A circuit's size: a share of a text's active tokens, or a number of them."""


@dataclass(frozen=True)
class CompletenessAt:
    """What is left of a model when each text keeps only a few of its active tokens."""

    accuracy: float
    kl: float
    """Mean KL(full ‖ circuit)."""
    random_accuracy: float
    """The same number of tokens, chosen at random."""


class CompletenessMeter(Generic[Size]):
    """Gathers `CompletenessAt` over batches, for several circuits: shares of a text's active tokens, or numbers."""

    def __init__(self, model: LexicalModel, sizes: list[Size], seed: int = 0):
        """`sizes`: what a circuit keeps; 0.1 the strongest tenth of the active tokens, 3 the strongest three."""
        self.model = model
        self.sizes: list[Size] = sizes
        self._sums = np.zeros((len(sizes), 3))
        self._rows = 0
        self._generator = torch.Generator().manual_seed(seed)

    def add(self, state: CircuitState, attribution: SparseRows, labels: Tensor) -> None:
        rows, full = state.rows, F.log_softmax(state.logits, -1)
        active = rows.value > 0
        chance = torch.rand(len(rows), generator=self._generator).to(rows.value.device)
        by_strength = rows.rank_in_row(torch.where(active, attribution.value.abs(), -1.0))
        by_chance = rows.rank_in_row(torch.where(active, chance, -1.0))
        counts = rows.with_value(active.float()).sum_rows()  # (R,)
        for i, size in enumerate(self.sizes):
            kept = circuit_size(counts, size) if isinstance(size, float) else torch.full_like(counts, size)  # (R,)
            circuit, chosen = (self._keep(rows, (r < kept[rows.row]).float()) for r in (by_strength, by_chance))
            kl = F.kl_div(F.log_softmax(circuit, -1), full, log_target=True, reduction="sum")
            right = [(logits.argmax(-1) == labels).sum() for logits in (circuit, chosen)]
            self._sums[i] += [float(right[0]), float(kl), float(right[1])]
        self._rows += len(labels)

    def _keep(self, rows: SparseRows, mask: Tensor) -> Tensor:
        return self.model.decide(rows.with_value(rows.value * mask)).logits

    def result(self) -> dict[Size, CompletenessAt]:
        means = self._sums / max(1, self._rows)
        return {size: CompletenessAt(*means[i].tolist()) for i, size in enumerate(self.sizes)}


@dataclass(frozen=True)
class SeparationResult:
    """Circuits of different classes against those of one class, as attributions with their sign, as their sizes, which
    say how much a word matters whichever way it speaks, and as sets.

    With two classes the head's centred output gives every word opposite signs for the two, so the cosine of signed
    circuits is below 0 whatever was learned; the cosine of sizes is not helped by it, and is near 1 if the same words
    matter for both classes. None: fewer than two classes were predicted, or of no class two texts."""

    cosine: float | None
    """Mean over pairs of classes, between their mean circuits; below 0: what is for one class is against the other."""
    jaccard: float | None
    """Mean over pairs of classes, overlap of the hundred tokens that matter most for each."""
    within_cosine: float | None
    """Mean over pairs of texts of one class."""
    size_cosine: float | None
    """The same as `cosine`, of sizes."""
    within_size_cosine: float | None
    """The same as `within_cosine`, of sizes."""
    overlap: float | None
    """The same as `size_cosine`, of all active tokens. A circuit is a share of them, so a sparser model's has fewer
    tokens, and fewer tokens meet less often: this one compares models of different sparsity."""
    within_overlap: float | None
    """The same as `within_size_cosine`, of all active tokens."""
    within_jaccard: float | None
    """Mean over sampled pairs of texts of one class, overlap of their circuits."""


class SeparationMeter:
    """Gathers class centroids of normalised circuits, and single circuits to compare within classes."""

    def __init__(self, num_classes: int, vocab_size: int, share: float):
        self.share = share
        self._signed = torch.zeros(num_classes, vocab_size)
        self._sizes = torch.zeros(num_classes, vocab_size)
        self._whole = torch.zeros(num_classes, vocab_size)
        self._counts = torch.zeros(num_classes)
        self._circuits: list[list[frozenset[int]]] = [[] for _ in range(num_classes)]

    def add(self, state: CircuitState, attribution: SparseRows, classes: Tensor) -> None:
        inside = circuit_mask(attribution, state.rows.value > 0, self.share)
        circuit = attribution.with_value(attribution.value * inside).normalised().value
        index = (classes[attribution.row] * self._sizes.shape[1] + attribution.token).cpu()
        for sums, unit in (
            (self._signed, circuit),
            (self._sizes, circuit.abs()),
            (self._whole, attribution.normalised().value.abs()),
        ):
            sums.view(-1).index_add_(0, index, unit.cpu())
        has_circuit = attribution.sum_rows(attribution.value.abs()) > 0  # not where every token says 0
        self._counts += torch.bincount(classes[has_circuit], minlength=len(self._counts)).cpu()
        inside = (inside > 0) & has_circuit[attribution.row]
        members: list[set[int]] = [set() for _ in range(attribution.num_rows)]
        for row, token in zip(attribution.row[inside].tolist(), attribution.token[inside].tolist(), strict=True):
            members[row].add(token)
        for row, tokens in enumerate(members):
            if tokens:
                self._circuits[int(classes[row])].append(frozenset(tokens))

    def result(self, seed: int = 0) -> SeparationResult:
        present = (self._counts > 0).nonzero(as_tuple=True)[0]
        sizes = self._sizes[present]  # (C, V)
        tops = [frozenset(row.topk(min(CLASS_CIRCUIT, int((row > 0).sum()))).indices.tolist()) for row in sizes]
        return SeparationResult(
            cosine=self._between(self._signed[present]),
            jaccard=_mean([_jaccard(*pair) for pair in combinations(tops, 2)]),
            within_cosine=self._within(self._signed),
            size_cosine=self._between(sizes),
            within_size_cosine=self._within(self._sizes),
            overlap=self._between(self._whole[present]),
            within_overlap=self._within(self._whole),
            within_jaccard=_mean(self._sampled_overlaps(np.random.default_rng(seed))),
        )

    @staticmethod
    def _between(sums: Tensor) -> float | None:
        """Mean cosine over pairs of rows."""
        unit = F.normalize(sums, dim=1)  # (C, V)
        return _mean((unit @ unit.T)[torch.triu_indices(len(unit), len(unit), 1).unbind()].tolist())

    def _within(self, sums: Tensor) -> float | None:
        """Mean over classes of the mean cosine over pairs of their texts: (‖Σu‖² − n)/(n·(n − 1)), u of length 1."""
        comparable = self._counts > 1
        counts = self._counts[comparable]
        return _mean((((sums[comparable] ** 2).sum(1) - counts) / (counts * (counts - 1))).tolist())

    def _sampled_overlaps(self, generator: np.random.Generator) -> list[float]:
        classes = [circuits for circuits in self._circuits if len(circuits) > 1]
        if not classes:
            return []
        overlaps = []
        for _ in range(SAMPLED_PAIRS):
            circuits = classes[generator.integers(len(classes))]
            first, second = generator.choice(len(circuits), 2, replace=False)
            overlaps.append(_jaccard(circuits[first], circuits[second]))
        return overlaps


def _jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
