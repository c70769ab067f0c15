"""A concept in a saved model: which texts rank its words, which are measured on, and what is recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from splade.config.load import load_config
from splade.data.groups import Groups, column_groups
from splade.data.loader import load_dataset, load_test_split
from splade.data.splits import TEST_SEED, carve
from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError, listed, nearest
from splade.evaluation.concept_growth import BUDGET, CurvePoint, Growth, grow_concept
from splade.evaluation.leakage import MOST_AT_CHANCE
from splade.evaluation.measure import Progress, no_progress
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.pipelines.saved_model import measurement_settings
from splade.surgery.concepts import TWICE, Concept, find_concept, texts_with
from splade.surgery.record import Account
from splade.tasks import TASKS
from splade.tasks.base import Task

HELD_OUT = 0.4
"""Share of the texts of one file that are measured on, not ranked by: probes need many."""

RANKING, MEASURED = "texts that rank", "texts measured on"


@dataclass(frozen=True)
class Examples:
    """Texts that rank what carries a concept, and other texts that its removal is measured on."""

    ranking: TextSplit
    held_out: TextSplit

    def checksums(self) -> dict[str, str]:
        """SHA-256 of both, as records name them."""
        return {name: _checksum(split) for name, split in ((RANKING, self.ranking), (MEASURED, self.held_out))}


def concept_examples(
    model: LexicalSAE, folder: Path, *, file: Path | None = None, overrides: Sequence[str] = ()
) -> Examples:
    """The model's own training and validation texts, or a file's, of which a share is held out."""
    check_task(model, "classification")
    if file is not None:
        settings, _ = measurement_settings(model, folder, None, overrides, file)
        numbered = model.record.get("numbered_labels") is True
        split: Any = load_test_split(settings.data, settings.seed, model.labels, "classification", numbered)
        ranking, held_out = carve(np.arange(len(split)), split, HELD_OUT, TEST_SEED)
        return Examples(split.take(ranking), split.take(held_out))
    record = model.record.get("experiment")
    if record is None:
        raise ConfigError(f"{folder} does not say which texts it was trained on; give texts with --file.")
    trained = load_config(None, list(overrides), record)
    dataset = load_dataset(trained.data, trained.seed, "classification")
    return Examples(dataset.train, dataset.validation)


def group_members(examples: Examples, group: str | None, column: str | None) -> tuple[str, str, np.ndarray, np.ndarray]:
    """The name of a group, how it is known, and which texts of both parts are about it, (N,) and (M,) bool."""
    columns = None if column is None else [column]
    ranking = column_groups(examples.ranking.extra, columns)
    name = group if group is not None else column if column in ranking.members else None
    if name is None:
        raise ConfigError(f"Which group is meant? Name one with --group: {listed(list(ranking.members))}.")
    if name not in ranking.members:
        raise DataError(
            f"No text is about '{name}' by the {ranking.source}; the groups there are: "
            f"{listed(list(ranking.members))}.{nearest(name, ranking.members)}"
        )
    held_out = _members(examples.held_out, columns, name)
    return name, f"{ranking.source}, group {name}", ranking.members[name], held_out


def _members(split: TextSplit, columns: Sequence[str] | None, name: str) -> np.ndarray:
    try:
        found: Groups = column_groups(split.extra, columns)
    except DataError:  # no text is about anybody; the sentence that this concept has too few says more
        return np.zeros(len(split), dtype=bool)
    return found.members.get(name, np.zeros(len(split), dtype=bool))


@dataclass(frozen=True)
class FoundConcept:
    """A concept, and the curve of its removal."""

    concept: Concept
    growth: Growth
    examples: Examples

    def measured(self) -> dict[str, Any]:
        """What was measured, and on which texts, as plain values."""
        return {"growth": asdict(self.growth), "data": self.examples.checksums()}

    def account(self, account: Account) -> Account:
        """An account of its removal with groups, data, thresholds and figures."""
        concept, growth = self.concept, self.growth
        group = {"source": concept.source, "texts": growth.texts, "texts with it": growth.positives}
        figures = {"before": _figures(growth, growth.before), "after": _figures(growth, growth.after)}
        thresholds = {"leakage at chance": MOST_AT_CHANCE, "budget": growth.budget}
        return replace(
            account,
            groups={concept.name: group},
            data=self.examples.checksums(),
            thresholds=thresholds,
            figures=figures | {"change": asdict(growth.after.change), "ended": growth.ended},
        )


def study_concept(
    model: LexicalSAE,
    examples: Examples,
    *,
    seeds: Sequence[str] = (),
    group: str | None = None,
    column: str | None = None,
    budget: float = BUDGET,
    odds: float = TWICE,
    silence: bool = True,
    seed: int = 0,
    progress: Progress = no_progress,
) -> FoundConcept:
    """Find what carries a concept, and measure how much of it to remove.

    Args:
        seeds: words that name it; with a group they come first in the ranking, and the group says which texts have it.
        group, column: the group that texts are about, and the column that says so; see `column_groups`.
    """
    task = _task(model, examples.held_out)
    name, source, inside, held_out = ", ".join(seeds[:3]), "texts with a seed word", None, None
    if group is not None or column is not None:
        name, source, inside, held_out = group_members(examples, group, column)
    with progress("ranking", len(examples.ranking)) as advance:
        concept = find_concept(
            model,
            examples.ranking.texts,
            inside,
            seeds=seeds,
            labels=[model.labels[label] for label in examples.ranking.labels],
            name=name,
            source=source,
            silence=silence,
            odds=odds,
            advance=advance,
        )
    about = texts_with(model, task, seeds) if held_out is None else held_out
    growth = grow_concept(model, concept, task, about, budget=budget, seed=seed, progress=progress)
    return FoundConcept(concept, growth, examples)


def _task(model: LexicalSAE, split: TextSplit) -> Task:
    task: Task = TASKS.get(model.task)(split, model.tokenizer, model.max_length, model.labels)
    return task


def _figures(growth: Growth, point: CurvePoint) -> Mapping[str, Any]:
    found = {"sparse vector": point.sparse, "mean hidden state": growth.hidden}
    leakage = {
        name: {probe: asdict(getattr(each, probe).auroc) for probe in ("linear", "mlp")} for name, each in found.items()
    }
    return {"accuracy" if growth.labelled else "agreement": point.score, "names": point.size, "leakage": leakage}


def _checksum(split: TextSplit) -> str:
    digest = hashlib.sha256()
    for part in split.contents():
        digest.update(json.dumps(list(part)).encode())
    return digest.hexdigest()
