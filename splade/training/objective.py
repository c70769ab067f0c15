"""What is minimised: cross-entropy in the warm-up, then the circuit objective plus λ times cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.circuits.core import CircuitState
from splade.circuits.losses import FrequencyPenalty, SeparationLoss, completeness_loss, expected_active
from splade.config.schema import TrainingConfig
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.training.recipes import RECIPES

TERMS = ("ce", "completeness", "separation", "sparsity", "frequency", "active", "correct")


@dataclass
class Totals:
    """Sums over rows, to be added over batches and processes and divided once."""

    sums: Tensor
    """(len(TERMS),)."""
    rows: int = 0

    @classmethod
    def empty(cls, device: torch.device) -> Totals:
        return cls(torch.zeros(len(TERMS), device=device))


class Objective(nn.Module):
    """The losses of a recipe with what they remember between steps."""

    active_before: Tensor

    def __init__(self, num_classes: int, vocab_size: int, config: TrainingConfig):
        super().__init__()
        self.config, self.recipe = config, RECIPES.get(config.recipe)
        if self.recipe.separation:
            self.separation = SeparationLoss(num_classes, vocab_size)
        if self.recipe.frequency:
            self.frequency = FrequencyPenalty(vocab_size, config.active_target)
        self.register_buffer("active_before", torch.full((), torch.inf))  # active tokens a row in the last step
        self._pending: list[Tensor] = []  # what this step's batches add to centroids and frequencies

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """(R,)."""
        return F.cross_entropy(logits, labels, label_smoothing=self.config.label_smoothing, reduction="none")

    def forward(
        self, model: nn.Module, state: CircuitState, labels: Tensor, circuit_phase: bool, ce_weight: float
    ) -> tuple[Tensor, Totals]:
        """Loss summed over rows, to be divided by the rows of the whole step, and the totals to report."""
        ce = self.cross_entropy(state.logits, labels)
        terms = {"ce": ce, "correct": (state.logits.argmax(-1) == labels).float()}
        loss = ce.sum()
        if isinstance(model, LexicalSAE):
            terms["active"] = state.rows.sum_rows((state.rows.value > 0).float())
        if circuit_phase and isinstance(model, LexicalSAE):
            circuit = self._circuit_terms(model, state, labels)
            weights = self.config.loss_weights
            loss = ce_weight * ce.sum() + sum(getattr(weights, name) * term.sum() for name, term in circuit.items())
            terms |= circuit
        sums = torch.stack([terms[name].detach().sum() if name in terms else ce.new_zeros(()) for name in TERMS])
        return loss, Totals(sums, len(labels))

    def _circuit_terms(self, model: LexicalSAE, state: CircuitState, labels: Tensor) -> dict[str, Tensor]:
        gate, terms = model.encoder.gate, {}
        attribution = compute_attribution_tensor(state, labels)
        if self.recipe.completeness:
            terms["completeness"] = completeness_loss(model, state, attribution, self.config.sparsity_target)
        if self.recipe.separation:
            terms["separation"] = self.separation(attribution, labels)
            self._remember(0, torch.cat([t.flatten() for t in self.separation.class_sums(attribution, labels)]))
        if self.recipe.sparsity:
            # The pressure acts while a step has more active tokens a row than aimed at. The step before decides, so
            # that no process waits for another in the middle of a step, and the hard count decides, because the
            # differentiable one also counts what the gate has just shut.
            over = float(self.active_before > self.config.active_target)
            terms["sparsity"] = over * expected_active(state, gate) / self.config.active_target
            self._remember(1, (state.rows.value > 0).sum()[None].float())
        if self.recipe.frequency:
            terms["frequency"] = self.frequency(state, gate)
            self._remember(2, self.frequency.counts(state).flatten())
        return terms

    def _remember(self, slot: int, value: Tensor) -> None:
        while len(self._pending) <= slot:
            self._pending.append(torch.zeros((), device=value.device))
        self._pending[slot] = self._pending[slot] + value

    def end_step(self, reduce, rows: int) -> None:  # type: ignore[no-untyped-def]
        """Move centroids, frequencies and the active count; `reduce` adds a tensor over processes."""
        if not self._pending:
            return
        sizes, reduced = [t.numel() for t in self._pending], reduce(torch.cat([t.flatten() for t in self._pending]))
        sums, active, counts = (
            *reduced.split(sizes),
            *([torch.empty(0)] * (3 - len(sizes))),
        )
        if self.recipe.separation:
            classes, vocab = self.separation.centroids.shape
            self.separation.update(sums[: classes * vocab].view(classes, vocab), sums[classes * vocab :])
        if self.recipe.sparsity:
            self.active_before = active.squeeze(0) / rows
        if self.recipe.frequency:
            self.frequency.update(counts.view(2, -1), rows)
        self._pending = []
