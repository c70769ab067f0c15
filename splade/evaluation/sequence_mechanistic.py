"""Everything that is measured of a tagger on the test split after training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from splade.circuits.metrics import CompletenessAt, CompletenessMeter, Separation, SeparationMeter
from splade.config.schema import EvaluationConfig
from splade.evaluation.entities import EntityScores, entity_scores
from splade.evaluation.findings import contribution_findings, entity_findings
from splade.evaluation.grounding import (
    Grounding,
    StrongestMeter,
    StrongestToken,
    frozen_share,
    input_share,
    self_activation,
)
from splade.evaluation.mechanistic import (
    CIRCUIT_TOKENS,
    GROUNDING_TEXTS,
    ActiveTokens,
    DLACheck,
    active_tokens,
    dla_errors,
    lexicon_meter,
    sampled,
)
from splade.evaluation.registers import RegisterMeter
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import TaggingTask

TOP_K = (20, 200)
"""Caps on a word's active tokens whose price is measured."""


@dataclass(frozen=True)
class CappedAt:
    """A tagger whose words keep only their strongest active tokens."""

    f1: float
    active_tokens: float
    """Mean a word."""
    capped: float
    """Share of words that had more; the others are as they were."""


@dataclass(frozen=True)
class TaggingEvaluation(EntityScores):
    """The figures of one tagger on one test split. A row is a word, its class the tag decoded for it."""

    argmax_f1: float
    """F1 of each word's most probable tag, whether or not the sequence is a possible one."""
    topk_per_position: dict[int, CappedAt]
    dla: DLACheck
    active_tokens: ActiveTokens
    active_tokens_entities: ActiveTokens | None
    """The same at words of entities alone, which need more tokens than the many others; None: there are none."""
    sparsity: float
    """Share of the vocabulary that is silent at an average word."""
    completeness: dict[float, CompletenessAt]
    """By the share of a word's active tokens that is kept; accuracy is that of tags."""
    completeness_tokens: dict[int, CompletenessAt]
    """By the number of tokens kept."""
    completeness_entities: dict[float, CompletenessAt]
    """The same at words of entities alone: most words are O, which the bias alone may say."""
    completeness_entities_tokens: dict[int, CompletenessAt]
    separation: Separation
    grounding: Grounding
    strongest: dict[str, StrongestToken]
    """By tag."""
    words: int
    """Words the figures from `dla` on were measured on."""
    evaluated: int
    """Sentences, or windows of longer ones, these words are in."""
    findings: list[str]
    """Sentences on what a reader should not miss."""


@torch.no_grad()
def evaluate_tagging(
    model: LexicalSAE,
    task: TaggingTask,
    config: EvaluationConfig,
    *,
    share: float,
    frozen: Backbone | None,
    seed: int = 0,
    advance: Callable[[int], None] = lambda texts: None,
) -> TaggingEvaluation:
    """Measure a tagger on a split; arguments as for `splade.evaluation.mechanistic.evaluate`.

    A sentence is decoded as a whole and may lie in several windows, so all words are predicted before any is explained.
    """
    lexicon_meter(model, config)  # which refuses one
    model.eval()
    logits, capped = _predict(model, task, config.batch_size)
    tags = task.decode(logits)  # (N,)
    rows, _ = sampled(len(task), config.max_samples)
    meters = [CompletenessMeter(model, config.completeness_shares, seed) for _ in range(2)]
    meters_tokens = [CompletenessMeter(model, list(CIRCUIT_TOKENS), seed) for _ in range(2)]
    separation = SeparationMeter(len(model.labels), model.vocab_size, share)
    strongest = StrongestMeter(model.labels, model.vocabulary)
    registers = RegisterMeter(model.labels, model.vocabulary)
    counts, counts_entities, errors = [], [], []
    there = total = 0.0
    for batch in task.in_order(config.batch_size, model.device, rows):
        state = task.predict(model, batch)
        classes = torch.from_numpy(tags[batch.places]).to(model.device)
        attribution = compute_attribution_tensor(state, classes)
        errors.append(dla_errors(state).cpu())
        separation.add(state, attribution, classes)
        strongest.add(attribution, classes)
        tagged = (classes != task.iob2.outside).nonzero(as_tuple=True)[0]
        registers.add(attribution.take(tagged), classes[tagged])
        named = (batch.labels != task.iob2.outside).nonzero(as_tuple=True)[0]
        part, of_part = state.take(named), attribution.take(named)
        for everywhere, entities in (meters, meters_tokens):
            everywhere.add(state, attribution, batch.labels)
            entities.add(part, of_part, batch.labels[named])
        on_word, everything = input_share(batch, attribution, model.encoder.base)
        there, total = there + on_word, total + everything
        counts.append(attribution.counts.cpu())
        counts_entities.append(of_part.counts.cpu())
        advance(len(batch.rows))
    active, active_entities = torch.cat(counts).numpy(), torch.cat(counts_entities).numpy()
    error = torch.cat(errors)
    sample = rows[sampled(len(rows), GROUNDING_TEXTS)[0]]
    scores, heaviest = entity_scores(task, tags), registers.result()
    return TaggingEvaluation(
        **vars(scores),
        argmax_f1=entity_scores(task, logits.argmax(-1).numpy()).f1,
        topk_per_position=capped,
        dla=DLACheck(float(error.max()), float(error.mean())),
        active_tokens=active_tokens(active),
        active_tokens_entities=active_tokens(active_entities) if len(active_entities) else None,
        sparsity=1 - float(active.mean()) / model.vocab_size,
        completeness=meters[0].result(),
        completeness_tokens=meters_tokens[0].result(),
        completeness_entities=meters[1].result(),
        completeness_entities_tokens=meters_tokens[1].result(),
        separation=separation.result(seed),
        grounding=Grounding(
            input_share=there / total if total else 0.0,
            frozen_share=None
            if frozen is None
            else frozen_share(model, frozen, task, sample, config.batch_size, predicted=tags),
            self_activation=self_activation(model, task, sample),
            lexicon=None,
            texts=len(sample),
            heaviest=heaviest,
            heaviest_word=None,
            artefacts=[],
        ),
        strongest=strongest.result(),
        words=len(active),
        evaluated=len(rows),
        findings=[*entity_findings(scores), *contribution_findings(heaviest)],
    )


def _predict(model: LexicalSAE, task: TaggingTask, batch_size: int) -> tuple[Tensor, dict[int, CappedAt]]:
    """Logits (N, C) of all words, and what is left of the tagger under each cap."""
    whole = torch.zeros(len(task.labels), len(model.labels))
    capped = {k: torch.zeros_like(whole) for k in TOP_K}
    counts = []
    for batch in task.in_order(batch_size, model.device):
        state, places = task.predict(model, batch), torch.from_numpy(batch.places)
        whole[places] = state.logits.cpu()
        for k, logits in capped.items():
            logits[places] = model.decide(state.rows.select(state.rows.strongest(k))).logits.cpu()
        counts.append(state.rows.counts.cpu())
    active = torch.cat(counts).numpy()
    return whole, {
        k: CappedAt(task.score(logits), float(active.clip(max=k).mean()), float((active > k).mean()))
        for k, logits in capped.items()
    }
