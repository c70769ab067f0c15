"""What is minimised: cross-entropy in the warm-up, then the circuit objective plus λ times cross-entropy; in both, the
dense teacher's loss and that of deletion where a recipe has them, and the anchor's where one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.circuits.losses import (
    COMPLETENESS,
    SEPARATIONS,
    FeatureFrequencyTracker,
    FrequencyPenalty,
    sharpness_loss,
    token_counts,
)
from splade.circuits.sparsity import SPARSITIES
from splade.config.schema import TrainingConfig
from splade.config.variants import make
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel, Model, is_lexical
from splade.models.state import CircuitState
from splade.training.anchors import Anchor
from splade.training.deletion import DELETIONS
from splade.training.distillation import DenseTeacher
from splade.training.recipes import CIRCUIT_LOSSES, RECIPES
from splade.training.uncertainty import UncertaintyWeights

TERMS = ("ce", *CIRCUIT_LOSSES, "guide", "anchor", "deletion", "active", "correct")
"""What is reported of a step, by the names that `metrics.jsonl` has."""


@dataclass
class Totals:
    """Sums over rows, to be added over batches and processes and divided once."""

    sums: Tensor
    """(len(TERMS),)."""
    rows: int = 0

    def sum(self, term: str) -> float:
        return float(self.sums[TERMS.index(term)])

    def mean(self, term: str) -> float:
        return self.sum(term) / self.rows

    @classmethod
    def empty(cls, device: torch.device) -> Totals:
        return cls(torch.zeros(len(TERMS), device=device))


class Objective(nn.Module):
    """The losses of a recipe with what they remember between steps."""

    active_before: Tensor

    def __init__(
        self, num_classes: int, vocab_size: int, config: TrainingConfig, width: int = 0, anchor: Anchor | None = None
    ):
        """`width`: units of the hidden states that a dense teacher reads; 0: there is none."""
        super().__init__()
        self.anchor = anchor
        self.config, self.recipe, self.vocab_size = config, RECIPES.get(config.recipe), vocab_size
        if self.recipe.separation:
            self.separation = make(SEPARATIONS, self.recipe.separation, config, num_classes, vocab_size)
        if self.recipe.sparsity:
            self.sparsity = make(SPARSITIES, self.recipe.sparsity, config, vocab_size, config.active_target)
        if self.recipe.frequency:
            self.frequency = FrequencyPenalty(vocab_size, config.active_target)
        self.uncertainty = UncertaintyWeights(self.recipe.circuit_losses) if self.recipe.uncertainty else None
        taught = self.recipe.distillation and config.loss_weights.guide and width
        self.guide = DenseTeacher(width, num_classes) if taught else None
        self.deletion = None
        if self.recipe.deletion and config.loss_weights.deletion and width:
            self.deletion = make(DELETIONS, self.recipe.deletion, config)
        self.register_buffer("active_before", torch.full((), torch.inf))  # active tokens a row in the last step
        self._pending: dict[str, Tensor] = {}  # what this step's batches add to centroids and frequencies

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """(R,)."""
        return F.cross_entropy(logits, labels, label_smoothing=self.config.label_smoothing, reduction="none")

    def forward(
        self,
        model: Model,
        state: CircuitState,
        labels: Tensor,
        circuit_phase: bool,
        ce_weight: float,
        sequence: SparseSequence | None = None,
        chosen: Tensor | None = None,
    ) -> tuple[Tensor, Totals]:
        """Loss summed over rows, to be divided by the rows of the whole step, and the totals to report.

        `sequence`: what `state` was computed from, for teacher and anchor to read. `chosen` (K,): the rows whose
        circuits are looked at, for all; None: each its own.
        """
        if is_lexical(model) and state.read_from is not None:
            sequence = state.read_from
        ce = self.cross_entropy(state.logits, labels)
        terms = {"ce": ce, "correct": (state.logits.argmax(-1) == labels).float()}
        loss = ce.sum()
        if is_lexical(model):
            terms["active"] = state.rows.sum_rows(model.encoder.gate.opens(state.scores, state.rows.token).float())
        if circuit_phase and is_lexical(model):
            circuit = self._circuit_terms(model, state, labels, chosen)
            loss = ce_weight * ce.sum() + sum(self._weighed(name, term).sum() for name, term in circuit.items())
            terms |= circuit
        if self.guide is not None and sequence is not None:
            terms["guide"] = self.guide(sequence, state.logits, labels)
            loss = loss + self.config.loss_weights.guide * terms["guide"].sum()
        if self.anchor is not None and sequence is not None:
            terms["anchor"] = self.anchor(sequence, state, labels)
            loss = loss + self.config.loss_weights.anchor * terms["anchor"].sum()
        if self.deletion is not None and sequence is not None and is_lexical(model) and sequence.hears_others:
            terms["deletion"] = self.deletion(model, sequence, labels)
            loss = loss + self.config.loss_weights.deletion * terms["deletion"].sum()
        sums = torch.stack([terms[name].detach().sum() if name in terms else ce.new_zeros(()) for name in TERMS])
        return loss, Totals(sums, len(labels))

    def _circuit_terms(
        self, model: LexicalModel, state: CircuitState, labels: Tensor, chosen: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The circuit losses by name, (R,) each. What goes by attributions looks at the `chosen` rows, whose mean then
        stands for every row; what goes by counts of active tokens looks at all rows."""
        gate, terms, rows = model.encoder.gate, {}, len(labels)
        sample, sample_labels = (state, labels) if chosen is None else (state.take(chosen), labels[chosen])
        attribution = compute_attribution_tensor(sample, sample_labels)
        if self.recipe.completeness:
            parts = model, sample, attribution, self.config.sparsity_target, sample_labels
            terms["completeness"] = make(COMPLETENESS, self.recipe.completeness, self.config, *parts)
        if self.recipe.separation:
            terms["separation"] = self.separation(attribution, sample_labels)
            sums, counts = self.separation.class_sums(attribution, sample_labels)
            self._remember("attributions", sums)
            self._remember("classes", counts)
        if self.recipe.sharpness:
            terms["sharpness"] = sharpness_loss(sample, attribution)
        if chosen is not None:
            terms = {name: term.mean().expand(rows) for name, term in terms.items()}
        if self.recipe.sparsity:
            terms["sparsity"] = self.sparsity(state, gate, self.active_before)
            self._remember("active", gate.opens(state.scores, state.rows.token).sum().float())
        if self.recipe.frequency:
            terms["frequency"] = self.frequency(state, gate)
        if self._counting:
            self._remember("tokens", token_counts(state, gate))
        return terms

    def _weighed(self, name: str, term: Tensor) -> Tensor:
        weight = getattr(self.config.loss_weights, name)
        return weight * (self.uncertainty(name, term) if self.uncertainty is not None else term)

    @property
    def _counting(self) -> list[FeatureFrequencyTracker]:
        """The losses that go by how often each token fires."""
        return [loss for loss in self.children() if isinstance(loss, FeatureFrequencyTracker)]

    def _remember(self, name: str, value: Tensor) -> None:
        self._pending[name] = self._pending[name] + value if name in self._pending else value

    def end_step(self, reduce: Callable[[Tensor], Tensor], rows: int) -> None:
        """After a step of the circuit phase, move centroids, frequencies and the active count.

        `reduce` adds a tensor over processes; all of them call it, also one that had no row in the step.
        """
        shapes = self._shapes()
        zero = torch.zeros((), device=self.active_before.device)
        sums = {
            name: reduce(self._pending.get(name, zero.expand(shape)).contiguous()) for name, shape in shapes.items()
        }
        if "attributions" in sums:
            self.separation.update(sums["attributions"], sums["classes"])
        if "active" in sums:
            self.active_before = sums["active"] / rows
        for tracker in self._counting:
            tracker.update(sums["tokens"], rows)
        self._pending = {}

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """What the circuit terms remember, by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        if self.recipe.separation:
            classes, vocab = self.separation.centroids.shape
            shapes |= {"attributions": (classes, vocab), "classes": (classes,)}
        if self.recipe.sparsity:
            shapes["active"] = ()
        if self._counting:
            shapes["tokens"] = (2, self.vocab_size)
        return shapes
