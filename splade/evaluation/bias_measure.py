"""Bias of a classifier: its errors on texts about groups of people, at its own threshold and at a matched one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import ShareBelowOne
from splade.config.texts import FilePath, Names
from splade.config.variants import SETTINGS
from splade.data.groups import Groups, column_groups, group_columns, term_groups
from splade.data.identity_terms import load_terms
from splade.errors import DataError
from splade.evaluation.bias import ONLY, GroupSize, OperatingPoint, evaluate_bias
from splade.evaluation.bias_table import ERRORS, FIGURES, KEYS, TABLES, bias_findings
from splade.evaluation.group_auc import AUCs
from splade.evaluation.group_rates import Against
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.evaluation.positive_scores import log_odds, positive_classes
from splade.explainers import Subject


@settings_dataclass(config=SETTINGS, frozen=True)
class BiasSettings:
    """Whom texts are about, and which labels count as positive."""

    bias_groups: Names | None = None
    """Columns that say whom a text is about: names (a list, or text with ``;`` between them), or shares of raters from
    0 to 1, of which one half or more count; null: ``groups_majority``, ``groups``, or those of Civil Comments."""
    bias_terms: FilePath | None = None
    """Find groups by words in the texts instead: a file with a line a group, its name, a colon, and its terms; or
    ``identity``, a list of words that name people."""
    bias_positive: Names | None = None
    """Labels that count as positive (hateful, toxic); null: as their names say."""
    bias_matched_fpr: ShareBelowOne = 0.1
    """Share of all negative texts called positive at which groups are compared too, whatever the model's threshold."""
    bias_against: Against = "overall"
    """What a group's rates are compared with: those of all texts, or of the ``background``, the texts not about it."""


@dataclass(frozen=True)
class ModelBias:
    """What was found of one model."""

    groups: dict[str, GroupSize]
    overall: GroupSize
    fixed: OperatingPoint
    matched: OperatingPoint
    auc: AUCs
    positive: list[str]
    """Labels."""
    source: str
    """How groups are known."""
    unknown: int
    threshold_from: Literal["validation", "given"]
    matched_fpr: float
    against: Against
    fewest: int


@MEASURES.register("bias")
class Bias(Measure[ModelBias]):
    """Error rates and areas under the curve on texts about groups of people."""

    Settings = BiasSettings
    title = "Bias against groups"
    about = (
        "Does the model err more often on texts that are about some people? A gap is a group's error rate less that of "
        "all texts. The largest of many gaps is above zero by chance alone: read it beside what chance gives. Groups "
        "with few texts are shown with the smallest gap they could show."
    )
    section = "bias"
    tasks = ("classification",)
    reads = "every row"
    on_request = True
    figures, tables, keys = FIGURES, TABLES, KEYS

    @classmethod
    def check(cls, scope: Scope) -> None:
        chosen = positive_classes(scope.model.labels, _settings(scope).bias_positive)
        _groups(scope)
        positive = chosen[scope.task.labels]
        if positive.all() or not positive.any():
            raise DataError(
                f"All {len(positive)} test texts are {'positive' if positive.any() else 'negative'}, but bias needs "
                "texts of both labels; name other data, or other labels with evaluation.bias_positive."
            )

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        settings, extra = _settings(scope), scope.task.split.extra
        try:
            terms = load_terms(settings.bias_terms) if settings.bias_terms else None
        except DataError:  # said when it is asked for; whoever asks for other measures need not know
            return []
        columns = settings.bias_groups or group_columns(extra)
        held = [terms, *(extra.get(name) for name in columns if terms is None)]
        return [hashlib.sha256(json.dumps(held, default=str).encode()).hexdigest()]

    def result(self) -> ModelBias:
        scope, settings = self.scope, _settings(self.scope)
        chosen, groups = positive_classes(scope.model.labels, settings.bias_positive), _groups(scope)
        assert scope.logits is not None
        found = evaluate_bias(
            log_odds(scope.logits, chosen),
            chosen[scope.task.labels],
            groups.members,
            validation=self._validation(chosen),
            matched_fpr=settings.bias_matched_fpr,
            against=settings.bias_against,
            seed=scope.seed,
        )
        model = found.conditions[ONLY]
        return ModelBias(
            found.groups,
            found.overall,
            model.fixed,
            model.matched,
            model.auc,
            [label for label, inside in zip(scope.model.labels, chosen, strict=True) if inside],
            groups.source,
            groups.unknown,
            found.threshold_from,
            found.matched_fpr,
            found.against,
            found.fewest,
        )

    def _validation(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Scores and labels of the validation texts; None: they are not at hand, or all of one kind."""
        task = self.scope.references.validation
        if task is None or len(set(chosen[task.labels].tolist())) < 2:
            return None
        model = self.scope.model
        subject = Subject(model, model.tokenizer, model.max_length, self.scope.config.batch_size)
        return log_odds(subject.logits(task.split.texts), chosen), chosen[task.labels]

    def findings(self, result: ModelBias) -> list[str]:
        said = []
        for error, (_, texts, _) in ERRORS.items():
            enough = [size for size in result.groups.values() if getattr(size, texts) >= result.fewest]
            said += bias_findings(getattr(result.fixed, error), error, len(enough), result.against)
        few = [name for name, size in result.groups.items() if size.negatives < result.fewest]
        if few:
            said.append(
                f"{len(few)} of {len(result.groups)} groups have fewer than {result.fewest} negative texts, too few to "
                "tell whether they are wrongly called positive more often."
            )
        return said


def _settings(scope: Scope) -> BiasSettings:
    return scope.config.of(BiasSettings)


def _groups(scope: Scope) -> Groups:
    settings, split = _settings(scope), scope.task.split
    if settings.bias_terms is not None:
        return term_groups(split.texts, load_terms(settings.bias_terms))
    return column_groups(split.extra, settings.bias_groups)
