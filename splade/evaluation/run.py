"""One pass over held-out rows that feeds every measure asked for, and remembers what each has found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from splade.config.schema import EvaluationConfig
from splade.errors import ConfigError
from splade.evaluation.measure import Measure, Progress, References, Scope, Seen, no_progress
from splade.evaluation.measures import MEASURES, declared
from splade.evaluation.memory import Memory
from splade.evaluation.sampling import sampled
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState
from splade.tasks import Batch, Task, read
from splade.training.interrupt import Interrupted

SAMPLE_TEXTS = 256
"""Texts that slow measures look at, a fixed sample; the number used is in the results."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Evaluation:
    """What the measures found of one model on one split."""

    scope: Scope
    results: dict[type[Measure[Any]], Any]
    """By measure, in the order of their declaration."""
    findings: list[str]
    """Sentences on what a reader should not miss."""

    @property
    def rows(self) -> int:
        """Explained, whichever measures looked at them."""
        return self.scope.task.size(self.scope.rows)

    def __getitem__(self, measure: type[Measure[Result]]) -> Result:
        """What one measure found."""
        return cast(Result, self.results[measure])

    def to_json(self) -> dict[str, Any]:
        """The figures as `results.json` holds them."""
        task = self.scope.task
        found: dict[str, Any] = {}
        for measure, result in self.results.items():
            place = found.setdefault(measure.section, {}) if measure.section else found
            place |= measure.to_json(result)
        counts = {"evaluated": len(self.scope.rows)}
        if not task.description.decides_on_texts:  # a text is one prediction, a sentence is many
            counts[task.units] = self.rows
        return found | counts | {"findings": self.findings, "vocab_size": self.scope.columns}


def chosen_measures(config: EvaluationConfig, task: str) -> list[type[Measure[Any]]]:
    """The measures that the settings ask for, those of the task, in the order of their declaration."""
    every = measures_for(task)
    if config.measures is None:
        return [measure for measure in every if not measure.on_request]
    wanted = [MEASURES.get(name) for name in config.measures]
    for measure in wanted:
        if not measure.is_for(task):
            raise ConfigError(
                f"evaluation.measures names '{measure.name}', which is for {' and '.join(measure.tasks or ())}, "
                f"but the task is {task}; leave it out."
            )
    return [measure for measure in every if measure in wanted]


def measures_for(task: str) -> list[type[Measure[Any]]]:
    """All measures of a task, those on request too, in the order of their declaration."""
    return [measure for measure in declared(task) if issubclass(measure, Measure)]


def check_measures(model: LexicalModel, task: Task, config: EvaluationConfig) -> None:
    """Refuse settings that could not be measured, so that they do not come to light after an hour of training."""
    scope = Scope(model, task, config, share=1.0, to_train=True)
    for measure in chosen_measures(config, task.name):
        measure.check(scope)


@torch.no_grad()
def evaluate(
    model: LexicalModel,
    task: Task,
    config: EvaluationConfig,
    *,
    share: float,
    references: References | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
    memory: Memory | None = None,
    only_chosen: bool = False,
) -> Evaluation:
    """Measure a model on a split.

    Args:
        share: of a row's active tokens, that make its circuit.
        references: what the model is compared with.
        seed: draws random tokens and pairs, never texts.
        progress: shows how far it has come.
        memory: what was measured before of the same model on the same data, which is not measured again.
        only_chosen: leave out what is remembered of measures that were not asked for.
    """
    model.eval()
    rows, _ = sampled(len(task), config.max_samples)
    sample = rows[sampled(len(rows), SAMPLE_TEXTS)[0]]
    scope = Scope(model, task, config, share, references or References(), seed, rows, sample, progress=progress)
    chosen = chosen_measures(config, task.name)
    for measure in chosen:
        measure.check(scope)
    told = chosen if only_chosen else measures_for(task.name)
    remembered = {measure: memory.recall(measure, scope) if memory else None for measure in told}
    instances = {
        measure: _instance(measure, scope, memory)
        for measure, result in remembered.items()
        if result is not None or (measure in chosen and measure.is_wanted(scope))
    }
    results = {measure: result for measure, result in remembered.items() if result is not None}
    try:
        _take(scope, [one for measure, one in instances.items() if measure not in results], results, memory)
    except KeyboardInterrupt:
        if memory is None:
            raise
        raise Interrupted(
            _kept([measure for measure in instances if measure in chosen], results, memory, scope)
        ) from None
    findings = [said for measure, instance in instances.items() for said in instance.findings(results[measure])]
    return Evaluation(scope, {measure: results[measure] for measure in instances}, findings)


def _take(
    scope: Scope, new: Sequence[Measure[Any]], results: dict[type[Measure[Any]], Any], memory: Memory | None
) -> None:
    """Take measures, and keep what each has found as soon as it is there."""
    if new:
        with scope.progress("evaluating", len(scope.task)) as advance:
            _feed(scope, new, advance)
    for instance in new:
        found = instance.result()
        if memory:
            memory.keep(type(instance), scope, found)
        results[type(instance)] = found


def _kept(
    wanted: Sequence[type[Measure[Any]]], done: Collection[type[Measure[Any]]], memory: Memory, scope: Scope
) -> str:
    """What is left of a measurement that was stopped."""
    kept = f"{sum(measure in done for measure in wanted):,} of {len(wanted):,} measures"
    parts = {measure.name: memory.parts(measure, scope).count() for measure in wanted if measure not in done}
    begun = [f"{count:,} part{'s' * (count > 1)} of '{name}'" for name, count in parts.items() if count]
    return f"Stopped while measuring; kept: {', '.join([kept, *begun])}."


def _instance(measure: type[Measure[Any]], scope: Scope, memory: Memory | None) -> Measure[Any]:
    instance = measure(scope)
    if memory:
        instance.parts = memory.parts(measure, scope)
    return instance


@torch.no_grad()
def all_logits(model, task: Task, batch_size: int) -> Tensor:  # type: ignore[no-untyped-def]
    """(N, C) in the order of the task's labels, on the processor; for any model with `classify` or `tag`."""
    out = torch.zeros(len(task.labels), len(model.labels))
    for batch, state in read(model, task, batch_size):
        out[torch.from_numpy(batch.places)] = state.logits.cpu()
    return out


def _feed(scope: Scope, measures: Sequence[Measure[Any]], advance: Callable[[int], None]) -> None:
    """Make the passes that the measures need.

    Where each batch decides for itself, one pass serves all rows and those explained. Where a split is decided as a
    whole, because a sentence may lie in several windows, all rows are predicted before any is explained.
    """
    every, explained, few = (
        [measure for measure in measures if measure.reads == rows] for rows in ("every row", "explained rows", "sample")
    )
    task, texts = scope.task, np.arange(len(scope.task))
    scope.logits = torch.zeros(len(task.labels), len(scope.model.labels))
    if not task.decided_at_once and measures:
        _predict(scope, texts, every, (lambda texts: None) if explained else advance)
        scope.classes = task.decide_classes(scope.logits)
        if explained:
            _explain(scope, scope.rows, explained, advance=advance)
    elif every or explained:
        _explain(scope, scope.rows, explained, every, advance=advance)
        if every:
            _predict(scope, np.setdiff1d(texts, scope.rows), every, advance)
            scope.classes = task.decide_classes(scope.logits)
    if few:
        _explain(scope, scope.sample, few)


def _predict(
    scope: Scope, texts: np.ndarray, every: Sequence[Measure[Any]], advance: Callable[[int], None] = lambda texts: None
) -> None:
    """Predict some texts for the measures of every row."""
    for batch, state in read(scope.model, scope.task, scope.config.batch_size, texts, advance):
        _note(scope, batch, state, every)


def _explain(
    scope: Scope,
    texts: np.ndarray,
    measures: Sequence[Measure[Any]],
    every: Sequence[Measure[Any]] = (),
    *,
    advance: Callable[[int], None] = lambda texts: None,
) -> None:
    """Predict some texts and explain what was decided on each row, for `measures`."""
    for batch, state in read(scope.model, scope.task, scope.config.batch_size, texts, advance):
        if scope.task.decided_at_once:
            _note(scope, batch, state, every)
            classes = state.logits.argmax(-1)
        else:
            assert scope.classes is not None
            classes = torch.from_numpy(scope.classes[batch.places]).to(scope.model.device)
        if measures:
            seen = Seen(batch, state, classes, compute_attribution_tensor(state, classes))
            for measure in measures:
                measure.update(seen)


def _note(scope: Scope, batch: Batch, state: CircuitState, every: Sequence[Measure[Any]]) -> None:
    """Keep the logits of a batch, and show its prediction to the measures of every row."""
    assert scope.logits is not None
    scope.logits[torch.from_numpy(batch.places)] = state.logits.cpu()
    for measure in every:
        measure.predicted(batch, state)
