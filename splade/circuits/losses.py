"""The circuit losses: completeness, separation, sharpness, and help for tokens that hardly ever fire.

Each returns one number a row (text or position), never a mean, so that the loop can weigh rows alike however they are
spread over accumulated batches and processes. Sparsity has a file of its own, `splade.circuits.sparsity`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.circuits.core import circuit_mask
from splade.models.layers.activation import ThresholdGate
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.registry import Registry

COMPLETENESS: Registry[Callable[..., Tensor]] = Registry("completeness loss")
SEPARATIONS: Registry[type[AttributionCentroidTracker]] = Registry("separation loss")

CENTROID_DECAY = 0.95
"""Weight of the past in a class centroid: the average looks back about 20 batches in which the class occurred."""

FREQUENCY_DECAY = 0.99
"""Weight of the past in a token's firing frequency: about 100 batches."""

UNDER_ACTIVE = 0.1
"""A token that fires less than this share of the average frequency is under-active."""


def circuit_logits(model: LexicalModel, state: CircuitState, attribution: SparseRows, share: float) -> Tensor:
    """(R, C) what the top share of each row's active tokens predicts without the others."""
    mask = circuit_mask(attribution, state.rows.value > 0, share, soft=True)  # (N,)
    return model.decide(state.rows.with_value(state.rows.value * mask)).logits


@COMPLETENESS.register("kl")
def completeness_loss(
    model: LexicalModel, state: CircuitState, attribution: SparseRows, share: float, labels: Tensor | None = None
) -> Tensor:
    """(R,) KL(p_full ‖ p_circuit): the top share of a row's active tokens must predict as all of them do.

    The full prediction is the constant; it must not be dragged down to what a bad circuit can say.
    """
    masked = F.log_softmax(circuit_logits(model, state, attribution, share), -1)  # (R, C)
    full = F.log_softmax(state.logits.detach(), -1)
    return F.kl_div(masked, full, log_target=True, reduction="none").sum(-1)


@COMPLETENESS.register("ce")
def labelled_completeness(
    model: LexicalModel, state: CircuitState, attribution: SparseRows, share: float, labels: Tensor
) -> Tensor:
    """(R,) CE(p_circuit, label): the top share of a row's active tokens must be right, whatever all of them say."""
    return F.cross_entropy(circuit_logits(model, state, attribution, share), labels, reduction="none")


class AttributionCentroidTracker(nn.Module, ABC):
    """A moving average of normalised sizes of attribution a class: what its circuit usually looks like.

    Sizes, because with two classes a word has opposite signs for the two: of signed centroids the cosine is lowest, -1,
    where both classes rest on the same words, the opposite of what is asked for. Centroids are constants to the
    gradient, which flows through the batch's own attributions.
    """

    centroids: Tensor
    seen: Tensor

    def __init__(self, num_classes: int, vocab_size: int):
        super().__init__()
        self.register_buffer("centroids", torch.zeros(num_classes, vocab_size))
        self.register_buffer("seen", torch.zeros(num_classes, dtype=torch.bool))

    def unit(self, attribution: SparseRows) -> SparseRows:
        """Sizes of attribution, of length 1 a row."""
        return attribution.with_value(attribution.value.abs()).normalised()

    def similarities(self, attribution: SparseRows) -> Tensor:
        """(R, C) cosine between each row's sizes and each class centroid."""
        unit = self.unit(attribution)
        centroids = F.normalize(self.centroids, dim=1)
        columns = centroids.T.index_select(0, attribution.token) * unit.value[:, None]  # (N, C)
        cosines = torch.zeros(attribution.num_rows, len(self.centroids), device=columns.device)
        return cosines.index_add(0, attribution.row, columns)

    @abstractmethod
    def forward(self, attribution: SparseRows, labels: Tensor) -> Tensor:
        """(R,); zero for rows that cannot be compared."""

    @torch.no_grad()
    def class_sums(self, attribution: SparseRows, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Sums (C, V) of the batch's normalised sizes and rows (C,) by class, to be added over processes."""
        unit = self.unit(attribution)
        classes, vocab = self.centroids.shape
        flat = torch.zeros(classes * vocab, device=unit.value.device)
        flat.index_add_(0, labels[unit.row] * vocab + unit.token, unit.value)
        return flat.view(classes, vocab), torch.bincount(labels, minlength=classes).float()

    @torch.no_grad()
    def update(self, sums: Tensor, counts: Tensor) -> None:
        """Move the centroids of the classes that occurred."""
        present = counts > 0
        mean = sums[present] / counts[present, None]
        old = torch.where(self.seen[present, None], self.centroids[present], mean)
        self.centroids[present] = CENTROID_DECAY * old + (1 - CENTROID_DECAY) * mean
        self.seen |= present


@SEPARATIONS.register("triplet")
class SeparationLoss(AttributionCentroidTracker):
    """Triplet loss on sizes |a|: nearer to the own class's centroid than to the nearest other one, by a margin.

        loss = relu(m − (cos(|a|, own) − max_other cos(|a|, other))) + (1 − m)²/2,      m = sigmoid(raw)

    The margin m is learned: with a share p of rows inside the margin, its gradient p − (1 − m) vanishes at m = 1 − p.
    It grows as the circuits separate and gives way where they cannot.
    """

    def __init__(self, num_classes: int, vocab_size: int):
        super().__init__(num_classes, vocab_size)
        self.raw_margin = nn.Parameter(torch.zeros(()))

    @property
    def margin(self) -> Tensor:
        return torch.sigmoid(self.raw_margin)

    def forward(self, attribution: SparseRows, labels: Tensor) -> Tensor:
        """(R,); zero for rows of a class without a centroid yet, or while no other class has one."""
        similarity = self.similarities(attribution)  # (R, C)
        own_class = F.one_hot(labels, len(self.centroids)).bool()
        others = similarity.masked_fill(own_class | ~self.seen, -torch.inf).amax(1)  # the hardest negative
        gap = similarity.gather(1, labels[:, None]).squeeze(1) - others
        usable = self.seen[labels] & torch.isfinite(others) & (attribution.counts > 0)
        triplet = F.relu(self.margin - gap) + 0.5 * (1 - self.margin) ** 2
        return torch.where(usable, triplet, 0.0)


@SEPARATIONS.register("centroid_cosine")
class CentroidCosine(AttributionCentroidTracker):
    """The mean cosine between the own class's centroid, the row's share in it included, and the other centroids.

        loss = mean_other cos(c, other),      c = β·own + (1 − β)·|a|,      |a| the row's sizes, normalised

    Averaged over rows this is the mean pairwise cosine of the moving centroids. A row stays in the average for about
    1/(1 − β) steps, so the gradient to |a| is taken 1/(1 − β) times: with the share it has in one step alone it would
    hardly be felt.
    """

    def forward(self, attribution: SparseRows, labels: Tensor) -> Tensor:
        """(R,); zero for rows without attribution, or while no other class has a centroid."""
        beta, length = CENTROID_DECAY, self.centroids.norm(dim=1)  # (C,)
        unit = F.normalize(self.centroids, dim=1)
        similarity = self.similarities(attribution)  # (R, C)
        similarity = similarity.detach() + (similarity - similarity.detach()) / (1 - beta)
        own_class, past = F.one_hot(labels, len(unit)).bool(), beta * length[labels]  # (R, C), (R,)
        along = past[:, None] * (unit @ unit.T)[labels] + (1 - beta) * similarity  # (R, C): c · other
        square = past**2 + 2 * past * (1 - beta) * similarity[own_class] + (1 - beta) ** 2  # (R,): |c|²
        others = self.seen & ~own_class
        cosine = torch.where(others, along, 0.0).sum(1) / (others.sum(1).clamp(min=1) * square.clamp(min=1e-12).sqrt())
        usable = others.any(1) & (attribution.counts > 0)
        return torch.where(usable, cosine, 0.0)


def sharpness_loss(state: CircuitState, attribution: SparseRows) -> Tensor:
    """(R,) 1 − Hoyer(a) = (‖a‖₁/‖a‖₂ − 1)/(√n − 1) over a row's n active tokens: 0 if one carries all, 1 if all alike.

    Zero for rows of fewer than two active tokens, which cannot be any sharper.
    """
    active = attribution.sum_rows((state.rows.value > 0).float())  # (R,): n
    ratio = attribution.sum_rows(attribution.normalised().value.abs())  # (R,)
    return torch.where(active > 1, (ratio - 1) / (active.clamp(min=2).sqrt() - 1), 0.0)


def gate_probabilities(state: CircuitState, gate: ThresholdGate) -> SparseRows:
    """σ((z_j − θ_j)/ε) of every entry j."""
    return state.rows.with_value(gate.open_probability(state.scores, state.rows.token))


def expected_active(state: CircuitState, gate: ThresholdGate) -> Tensor:
    """(R,) Σ_j σ((z_j − θ_j)/ε): a differentiable count of a row's active tokens."""
    return gate_probabilities(state, gate).sum_rows()


def compute_gate_sparsity_loss(gate_probs: SparseRows) -> Tensor:
    """() the mean over rows of Σ_j σ((z_j − θ_j)/ε), of `gate_probabilities`; the loop adds up rows by itself."""
    return gate_probs.sum_rows().mean()


@torch.no_grad()
def token_counts(state: CircuitState, gate: ThresholdGate) -> Tensor:
    """(2, V) rows of the batch in which each token fires and comes near its threshold, to be added over processes."""
    token, size = state.rows.token, state.rows.vocab_size
    fired = torch.bincount(token[gate.opens(state.scores, token)], minlength=size)
    return torch.stack([fired, torch.bincount(token, minlength=size)]).float()


class FeatureFrequencyTracker(ABC):
    """A loss that goes by how often each token fires, a moving average over the rows of past steps."""

    @abstractmethod
    def update(self, counts: Tensor, rows: int) -> None:
        """Move the frequencies by the `token_counts` of a step that had so many rows."""


class FrequencyPenalty(nn.Module, FeatureFrequencyTracker):
    """(R,) Σ_j relu(θ_j − z_j)/scale over under-active tokens j that nearly fired in the row.

    Under-active: fires in fewer than a tenth as many texts as the average token that ever comes near its threshold.
    The penalty acts only where such a token nearly fired: on every rare token at every step, an Adam-type optimiser
    would turn however small a gradient into full strides and open all their gates.
    """

    fired: Tensor
    near: Tensor

    def __init__(self, vocab_size: int, active_target: float):
        super().__init__()
        self.active_target = active_target
        self.register_buffer("fired", torch.zeros(vocab_size))  # EMA share of rows in which a token fires
        self.register_buffer("near", torch.zeros(vocab_size))  # … in which it comes near its threshold

    def forward(self, state: CircuitState, gate: ThresholdGate) -> Tensor:
        average = self.active_target / (self.near > 0).sum().clamp(min=1)
        token = state.rows.token
        starved = self.fired[token] < UNDER_ACTIVE * average
        short = F.relu(gate.theta.index_select(0, token) - state.scores) / gate.scale
        return state.rows.sum_rows(torch.where(starved, short, 0.0))

    @torch.no_grad()
    def update(self, counts: Tensor, rows: int) -> None:
        self.fired.mul_(FREQUENCY_DECAY).add_(counts[0] / rows, alpha=1 - FREQUENCY_DECAY)
        self.near.mul_(FREQUENCY_DECAY).add_(counts[1] / rows, alpha=1 - FREQUENCY_DECAY)
