"""A code that a model decides by, in figures: our words, hidden states, or features of an autoencoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.evaluation.binomial import Interval
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.identity import dla_errors
from splade.evaluation.measure import Scope
from splade.evaluation.splicing import LogitParts, SplicedMeter, VarianceMeter, joined, own_logit_parts, read_dense
from splade.mechanistic.sae import Kind, SparseAutoencoder, fit_autoencoder
from splade.models.dense import DenseClassifier
from splade.tasks import Task, read

RANDOM = "_random"
"""How the name of an autoencoder ends whose decoder is random."""


@dataclass(frozen=True)
class CodeFigures:
    """Of some rows; what a code does not have is None."""

    accuracy: float
    accuracy_interval: Interval
    cross_entropy: float
    cross_entropy_interval: Interval
    accuracy_of: dict[str, float]
    """Of the rows that the task sets apart, by name."""
    active: float | None = None
    """Words or distinct features a row, mean."""
    active_per_position: float | None = None
    """Features a position that the head reads, mean."""
    fvu: float | None = None
    """Fraction of the hidden states' variance unexplained."""
    dead: float | None = None
    """Share of the features that no position of these texts activates."""
    strongest_r2: float | None = None
    """Share of the variance of the decided labels' logits that the base and the strongest ten explain."""
    strongest_and_error_r2: float | None = None
    """The same with the error term."""
    error_share: float | None = None
    """Of what features and error add to logits, the error's."""
    max_error: float | None = None
    """Ours: the largest gap between a logit and the sum of its words, over all labels."""


@torch.no_grad()
def own_figures(scope: Scope, texts: np.ndarray) -> CodeFigures:
    """Of our own model, whose code is words."""
    logits: list[Tensor] = []
    places: list[np.ndarray] = []
    parts: list[LogitParts] = []
    largest = 0.0
    for batch, state in read(scope.model, scope.task, scope.config.batch_size, texts):
        logits.append(state.logits.cpu())
        places.append(batch.places)
        parts.append(own_logit_parts(state))
        largest = max(largest, float(dla_errors(state).max()))
    figures = _decided(scope.task, places, logits, scope.seed)
    return replace(_explained(figures, joined(parts)), max_error=largest)


@torch.no_grad()
def dense_figures(scope: Scope, dense: DenseClassifier, texts: np.ndarray) -> CodeFigures:
    """Of the dense baseline, whose code is its hidden states."""
    logits: list[Tensor] = []
    places: list[np.ndarray] = []
    for batch, state in read(dense, scope.task, scope.config.batch_size, texts):
        logits.append(state.logits.cpu())
        places.append(batch.places)
    return _decided(scope.task, places, logits, scope.seed)


@torch.no_grad()
def spliced_figures(
    scope: Scope, dense: DenseClassifier, texts: np.ndarray, autoencoders: Sequence[SparseAutoencoder]
) -> list[CodeFigures]:
    """Of the dense baseline with each autoencoder's reconstruction in the place of its hidden states, in one pass."""
    meters, variance, places = [SplicedMeter(one) for one in autoencoders], VarianceMeter(), []
    for batch, seen in read_dense(dense, scope.task, texts, scope.config.batch_size):
        places.append(batch.places)
        variance.add(seen.states)
        for meter in meters:
            meter.add(dense, scope.task, batch, seen)
    return [
        replace(
            _explained(_decided(scope.task, places, meter.logits, scope.seed), joined(meter.parts)),
            active_per_position=meter.active / max(1, meter.positions),
            fvu=meter.squares / variance.total if variance.total else 0.0,
            dead=float((~meter.fired).float().mean()),
        )
        for meter in meters
    ]


@dataclass(frozen=True)
class Fit:
    """What the autoencoders of one sparsity are fitted with."""

    kinds: Sequence[Kind]
    vectors: Tensor
    """(N, d)."""
    features: int
    active: int
    """Features a position."""
    steps: int
    seed: int


def fitted_figures(
    scope: Scope, dense: DenseClassifier, texts: np.ndarray, fit: Fit, advance: Callable[[int], None]
) -> dict[str, CodeFigures]:
    """Fit the autoencoders of one sparsity, of every kind and with a random decoder too, and measure them."""
    autoencoders = {
        f"{kind}_{fit.active}{ending}": fit_autoencoder(
            kind,
            fit.vectors,
            features=fit.features,
            active=fit.active,
            random_decoder=ending == RANDOM,
            steps=fit.steps,
            seed=fit.seed,
            advance=advance,
        )
        for kind in fit.kinds
        for ending in ("", RANDOM)
    }
    return dict(zip(autoencoders, spliced_figures(scope, dense, texts, list(autoencoders.values())), strict=True))


@torch.no_grad()
def own_active(scope: Scope, task: Task, texts: np.ndarray) -> float:
    """Our active tokens a row, mean over some texts."""
    counts = [state.rows.counts for _, state in read(scope.model, task, scope.config.batch_size, texts)]
    return float(torch.cat(counts).float().mean())


def _decided(task: Task, places: Sequence[np.ndarray], logits: Sequence[Tensor], seed: int) -> CodeFigures:
    """Accuracy and cross-entropy of rows, by their places among the task's labels, with intervals over texts."""
    place, scores = np.concatenate(places), torch.cat(list(logits))  # (R,), (R, C)
    labels = torch.from_numpy(task.labels[place])
    right = (scores.argmax(1) == labels).double().numpy()  # (R,)
    loss = F.cross_entropy(scores, labels, reduction="none").double().numpy()  # (R,)
    accuracy, cross_entropy = estimates(np.stack([right, loss], 1), task.example_of_row[place], seed)
    assert accuracy is not None and cross_entropy is not None, "there are rows"
    return CodeFigures(
        accuracy.mean,
        _interval(accuracy),
        cross_entropy.mean,
        _interval(cross_entropy),
        {name: float(right[rows.numpy()].mean()) for name, rows in task.subsets(labels).items() if len(rows)},
    )


def _interval(estimate: Estimate) -> Interval:
    return Interval(estimate.low, estimate.high)


def _explained(figures: CodeFigures, parts: LogitParts) -> CodeFigures:
    return replace(
        figures,
        active=float(parts.active.mean()),
        strongest_r2=r_squared(parts.logit, parts.strongest),
        strongest_and_error_r2=r_squared(parts.logit, parts.strongest + parts.error),
        error_share=error_share(parts.features, parts.error),
    )


def r_squared(logit: np.ndarray, explained: np.ndarray) -> float | None:
    """1 − Σ(logit − explained)²/Σ(logit − mean)², the share of the logits' variance explained; None: all are alike."""
    spread = float(((logit - logit.mean()) ** 2).sum())
    return 1 - float(((logit - explained) ** 2).sum()) / spread if spread > 0 else None


def error_share(features: np.ndarray, error: np.ndarray) -> float:
    """Σ|error| / Σ(|what all features add| + |error|), over rows."""
    whole = float(np.abs(features).sum() + np.abs(error).sum())
    return float(np.abs(error).sum()) / whole if whole else 0.0
