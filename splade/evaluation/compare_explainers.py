"""Explainers compared: ours, its rivals and those that know nothing, on our model and on the dense baseline."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from splade.evaluation.comparison import Comparison, ExplainersSettings
from splade.evaluation.explained_texts import ComparedTexts
from splade.evaluation.explainer_figures import ExplainerFigures
from splade.evaluation.explainer_findings import explainer_findings
from splade.evaluation.explainers_table import COUNTS, DENSE, FIGURES, KEYS, TABLES
from splade.evaluation.measure import MEASURES, Measure, Scope, as_json
from splade.explainers import ExplainerParts, Subject
from splade.models.protocol import Model

OWN = "own"


@dataclass(frozen=True)
class ComparedCounts:
    """What was compared."""

    texts: int
    words: int
    marked: int
    """Texts of which people marked some words and not all."""


@dataclass(frozen=True)
class ExplainersResult:
    """By explainer, of our model and of the dense baseline."""

    own: dict[str, ExplainerFigures]
    dense: dict[str, ExplainerFigures]
    """Empty: none was trained."""
    of: ComparedCounts


@MEASURES.register("explainers")
class CompareExplainers(Measure[ExplainersResult]):
    """Faithfulness, exactness, stability and cost of explainers, on the same texts, words and classes."""

    Settings = ExplainersSettings
    title = "Explainers"
    about = (
        "Is our sum a better explanation than those that can be had of any model, and what does each cost? Every "
        "explainer scores the same words of the same texts for the class predicted. Deletion is the yardstick, so that "
        "LIME, which is fitted to texts with words deleted, and occlusion, which hides them one by one, ask nearly the "
        "question that they are judged by; random and empty know nothing, and whoever is no better than they is no "
        "explanation."
    )
    section = "explainers"
    tasks = ("classification",)
    reads = "nothing"
    version = 2
    on_request = True
    figures, tables, keys = FIGURES, TABLES, KEYS

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        dense = scope.references.dense
        if dense is None:
            return []
        return [hashlib.sha256(dense.head.fc1.weight.detach().float().cpu().numpy().tobytes()).hexdigest()]

    def result(self) -> ExplainersResult:
        scope, settings = self.scope, self.scope.config.of(ExplainersSettings)
        subjects = [self._subject(scope.model, OWN)]
        if scope.references.dense is not None:
            subjects.append(self._subject(scope.references.dense, DENSE))
        compared = ComparedTexts.of(scope, subjects[0], settings.explainers_texts)
        parts = ExplainerParts(scope.seed, training=lambda: scope.references.training)
        comparison = Comparison(settings, parts, compared, self.parts)
        total = sum(len(comparison.names(subject)) for subject in subjects)
        with scope.progress("comparing explainers", total) as comparison.advance:
            rows = [comparison.figures(subject) for subject in subjects]
        words, marked = sum(map(len, compared.texts)), sum(one is not None for one in compared.marked)
        counts = ComparedCounts(len(compared.texts), words, marked)
        return ExplainersResult(rows[0], rows[1] if len(rows) > 1 else {}, counts)

    def _subject(self, model: Model, name: str) -> Subject:
        own = self.scope.model
        return Subject(model, own.tokenizer, own.max_length, self.scope.config.batch_size, name)

    def findings(self, result: ExplainersResult) -> list[str]:
        return explainer_findings(result.own)

    @staticmethod
    def to_json(result: ExplainersResult) -> dict[str, Any]:
        found: dict[str, Any] = as_json(result.own)
        if result.dense:
            found[DENSE] = as_json(result.dense)
        return found | {COUNTS: as_json(result.of)}
