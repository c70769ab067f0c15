"""Scaling metrics: does the sparse code carry what the hidden state does, and how few of its tokens carry it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.downstream_loss import DownstreamLoss, compute_downstream_loss
from splade.evaluation.estimate import Estimate, estimate
from splade.evaluation.figure import DIVERGENCE, MEAN, Cell, Figure, Grid, Key, Results, Table, beside, find, percent
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.evaluation.sparse_probing import Probing, probe
from splade.mechanistic.ablation import ablation_effects, participation
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState

__all__ = ["Scaling", "compute_ablation_sparsity", "compute_downstream_loss"]

SCALE_TEXTS = 256
"""Training texts that the one scale of the code's vocabulary vectors is fitted on."""


def compute_ablation_sparsity(model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
    """(R,) (‖a‖₁/‖a‖₂)² of each row, a being the effects on the logit of its class (R,) of ablating its active tokens
    one by one: as many tokens carry the decision as if all carried alike; NaN where none has an effect."""
    return participation(ablation_effects(model, state, classes))


@dataclass(frozen=True)
class AblationSparsity:
    """How many tokens carry a decision."""

    effects: Estimate | None
    """Mean of `compute_ablation_sparsity` over rows."""
    attributions: Estimate | None
    """The same of the attributions, which differ where a token's absence opens or closes a unit of the head."""
    active: Estimate | None
    """Mean number of active tokens of the same rows: what it would be if all carried alike."""
    rows: int


@dataclass(frozen=True)
class ScalingResult:
    """All three."""

    ablation_sparsity: AblationSparsity
    probing: Probing
    downstream_loss: DownstreamLoss | None
    """None: the backbone has no trained masked-LM head."""


def _table(results: Results) -> Grid | None:
    found = find(results, "scaling.probing.columns") or {}

    def cell(row: Any, key: str) -> Cell:
        return Cell(percent((row.get(key) or {}).get("mean")))

    rows = [
        [
            Cell(f"{k} column{'s' if k != '1' else ''}"),
            cell(row, "accuracy"),
            cell(row, "dense_accuracy"),
            Cell(percent(row.get("macro_f1"))),
            Cell(percent(row.get("dense_macro_f1"))),
        ]
        for k, row in found.items()
    ]
    words = find(results, "scaling.probing.words") or {}
    best = "; ".join(f"{label}: {', '.join(named)}" for label, named in words.items())
    majority = percent(find(results, "scaling.probing.majority"))
    note = f"Always the most frequent label: {majority}. Tokens that tell a label best: {best}." if found else ""
    titles = ("accuracy, tokens", "accuracy, hidden state", "macro-F1, tokens", "macro-F1, hidden state")
    return Grid(["read", *titles], rows, note=note)


@MEASURES.register("scaling")
class Scaling(Measure[ScalingResult]):
    """Ablation sparsity, k-sparse probing and downstream loss."""

    reads = "sample"
    on_request = True
    title = "What the code carries"
    about = (
        "How many tokens carry a decision, how much of the label a few of them tell beside as many columns of the "
        "hidden state, and how well the sparse code stands in for the hidden state in the masked language model."
    )
    section = "scaling"
    figures = (
        Figure(
            "scaling.ablation_sparsity.effects.mean",
            "tokens that carry a decision",
            "(‖a‖₁/‖a‖₂)² of the effects a of ablating each active token: the number of tokens, if all carried alike.",
            MEAN,
            better="lower",
            column="ablation_sparsity",
            beside=beside("of {} active", "scaling.ablation_sparsity.active.mean", MEAN),
        ),
        Figure(
            "scaling.probing.columns.1.accuracy.mean",
            "accuracy of one token",
            "Accuracy of a logistic regression on the one token that tells each label best, chosen and fitted on "
            "training {items}.",
            better="higher",
            column="probe_1",
            beside=beside("one dimension of the hidden state {}", "scaling.probing.columns.1.dense_accuracy.mean"),
        ),
        Figure(
            "scaling.probing.columns.5.accuracy.mean",
            "accuracy of five tokens",
            "The same of the five tokens that tell each label best.",
            better="higher",
            brief=False,
            beside=beside("five dimensions of the hidden state {}", "scaling.probing.columns.5.dense_accuracy.mean"),
        ),
        Figure(
            "scaling.downstream_loss.code.mean",
            "masked-LM loss of the code",
            "Cross-entropy of hidden tokens when the sparse code's own vocabulary vector α·Σ s·E stands in for the "
            "hidden state; α is one number, fitted on training {items}.",
            DIVERGENCE,
            better="lower",
            brief=False,
            beside=beside("the hidden state {}", "scaling.downstream_loss.hidden.mean", DIVERGENCE),
        ),
    )
    tables = (
        Table(
            "scaling.probing.columns",
            "scaling.probing.columns.<k>.{accuracy,macro_f1,dense_accuracy,dense_macro_f1}",
            "Sparse probing",
            "Logistic regressions, one label against the rest, on the k columns with the largest difference of means "
            "in standard deviations; chosen and fitted on training {items}. `dense_…`: of the mean hidden state.",
            _table,
        ),
    )
    keys = (
        Key(
            "scaling.ablation_sparsity.{effects,attributions,active,rows}",
            "`effects`, the same of `attributions`, and the mean number of `active` tokens, over `rows` {units} of a "
            "sample; each with `mean`, `low` and `high`, a 95 % interval by bootstrap over {items}",
        ),
        Key(
            "scaling.probing.{majority,words,training_rows,rows}",
            "accuracy of always giving the training set's most frequent label; the tokens that tell each label best; "
            "{units} that probes were fitted on, and scored on",
        ),
        Key(
            "scaling.downstream_loss",
            "masked-LM cross-entropy from the `hidden` state, from the `code`, and from `nothing` but the bias, each "
            "with its interval; `recovered`, the share of what the hidden state knows that the code keeps; `spoken`, "
            "the share of the `positions` at which any token is active; `scale`, α. Null where the backbone has no "
            "trained masked-LM head",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._values: list[Tensor] = []
        self._texts: list[Tensor] = []

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return scope.references.training is not None

    def update(self, seen: Seen) -> None:
        task, model = self.scope.task, self.scope.model
        rows = task.reasoned(seen.classes)
        state, classes, attribution = seen.state, seen.classes, seen.attribution
        places = torch.from_numpy(task.example_of_row[seen.batch.places])
        if rows is not None:
            state, classes, attribution, places = state.take(rows), classes[rows], attribution.take(rows), places[rows]
        effects = compute_ablation_sparsity(model, state, classes)
        self._values.append(torch.stack([effects, participation(attribution), state.rows.counts.float()], 1).cpu())
        self._texts.append(places)

    def result(self) -> ScalingResult:
        scope, training = self.scope, self.scope.references.training
        assert training is not None  # as `is_wanted` has made sure
        values, texts = torch.cat(self._values).numpy(), torch.cat(self._texts).numpy()
        effects, attributions, active = (estimate(column, texts, scope.seed) for column in values.T)
        settings: dict[str, Any] = {"batch_size": scope.config.batch_size, "seed": scope.seed}
        probing = probe(scope.model, scope.task, scope.rows, training, progress=scope.progress, **settings)
        fitted_on = np.random.default_rng(scope.seed).permutation(len(training))[:SCALE_TEXTS]
        loss = compute_downstream_loss(scope.model, scope.task, scope.sample, training, fitted_on, **settings)
        return ScalingResult(AblationSparsity(effects, attributions, active, len(values)), probing, loss)
