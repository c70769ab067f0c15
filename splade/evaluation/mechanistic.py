"""Everything that is measured on the test split after training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from splade.circuits.metrics import CompletenessAt, CompletenessMeter, Separation, SeparationMeter
from splade.config.numbers import ALL_ROWS
from splade.config.schema import EvaluationConfig
from splade.data.splits import TEST_SEED
from splade.errors import ConfigError
from splade.evaluation.artefacts import artefacts
from splade.evaluation.findings import class_findings, contribution_findings
from splade.evaluation.grounding import (
    Grounding,
    LexiconMeter,
    frozen_share,
    input_share,
    load_lexicon,
    positive_class,
    self_activation,
)
from splade.evaluation.per_class import ClassScores, class_scores
from splade.evaluation.registers import RegisterMeter
from splade.evaluation.word_weights import WordMeter
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import CircuitState
from splade.tasks import ClassificationTask, Task

GROUNDING_TEXTS = 256
"""Test texts for the two slow grounding figures, a fixed sample; the number used is in the results."""


CIRCUIT_TOKENS = (1, 3, 5, 10)
"""Numbers of tokens a circuit is cut to: what a person would read of an explanation."""


@dataclass(frozen=True)
class DLACheck:
    """|logit − (Σ_j s_j·W_eff[c, j] + b_eff[c])| over every input and every class."""

    max_error: float
    mean_error: float


@dataclass(frozen=True)
class ActiveTokens:
    """How many vocabulary tokens a row, a text or a labelled word, has active."""

    mean: float
    p50: float
    p95: float
    max: int
    histogram: dict[str, list[float]]


@dataclass(frozen=True)
class Evaluation(ClassScores):
    """The figures of one model on one test split; the scores are of the whole split."""

    dla: DLACheck
    active_tokens: ActiveTokens
    sparsity: float
    """Share of the vocabulary that is silent in an average text."""
    completeness: dict[float, CompletenessAt]
    """By the share of a text's active tokens that is kept."""
    completeness_tokens: dict[int, CompletenessAt]
    """By the number of tokens kept, which compares models that are not equally sparse."""
    separation: Separation
    grounding: Grounding
    evaluated: int
    """Texts the figures from `dla` on were measured on."""
    findings: list[str]
    """Sentences on what a reader should not miss."""


@torch.no_grad()
def dla_errors(state: CircuitState) -> torch.Tensor:
    """(R, C) errors of the identity: the forward pass's logits against the sum of attributions, class by class."""
    errors = torch.empty_like(state.logits)
    for c in range(state.logits.shape[1]):
        classes = torch.full((len(state.logits),), c, device=state.logits.device)
        total = compute_attribution_tensor(state, classes).sum_rows() + state.b_eff[:, c]
        errors[:, c] = (total - state.logits[:, c]).abs()
    return errors


@torch.no_grad()
def all_logits(model, task: Task, batch_size: int) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """(N, C) in the order of the task's labels, on the processor; for any model with `classify` or `tag`."""
    model.eval()
    out = torch.zeros(len(task.labels), len(model.labels))
    for batch in task.in_order(batch_size, next(model.parameters()).device):
        out[torch.from_numpy(batch.places)] = task.predict(model, batch).logits.cpu()
    return out


def predictions(model, task: Task, batch_size: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Predicted and true classes, in the order of the task's labels."""
    return all_logits(model, task, batch_size).argmax(-1).numpy(), task.labels


@torch.no_grad()
def evaluate(
    model: LexicalSAE,
    task: ClassificationTask,
    config: EvaluationConfig,
    *,
    share: float,
    frozen: Backbone | None,
    seed: int = 0,
    advance: Callable[[int], None] = lambda texts: None,
) -> Evaluation:
    """Measure a model on a split. `share` of the active tokens makes a circuit; `frozen` is the backbone untrained.

    `seed` draws random tokens and pairs, never texts; `advance` is told of every text that is done, for a progress bar.
    """
    model.eval()
    rows, others = sampled(len(task), config.max_samples)
    completeness = CompletenessMeter(model, config.completeness_shares, seed)
    completeness_tokens = CompletenessMeter(model, list(CIRCUIT_TOKENS), seed)
    separation = SeparationMeter(len(model.labels), model.vocab_size, share)
    lexicon, positive = lexicon_meter(model, config)
    registers = RegisterMeter(model.labels, model.vocabulary)
    words = WordMeter(model.labels, model.vocabulary)
    found, counts, errors = np.empty(len(task), dtype=np.int64), [], []
    there = total = 0.0
    for batch in task.in_order(config.batch_size, model.device, rows):
        state = task.predict(model, batch)
        classes = state.logits.argmax(-1)
        attribution = compute_attribution_tensor(state, classes)
        errors.append(dla_errors(state).cpu())
        completeness.add(state, attribution, batch.labels)
        completeness_tokens.add(state, attribution, batch.labels)
        separation.add(state, attribution, classes)
        registers.add(attribution, classes)
        words.add(batch, attribution, classes)
        if lexicon is not None and positive is not None:
            lexicon.add(compute_attribution_tensor(state, torch.full_like(classes, positive)))
        on_input, everything = input_share(batch, attribution, model.encoder.base)
        there, total = there + on_input, total + everything
        found[batch.rows] = classes.cpu().numpy()
        counts.append(attribution.counts.cpu())
        advance(len(batch.rows))
    for batch in task.in_order(config.batch_size, model.device, others):
        found[batch.rows] = task.predict(model, batch).logits.argmax(-1).cpu().numpy()
        advance(len(batch.rows))
    active, error = torch.cat(counts).numpy(), torch.cat(errors)
    sample = rows[sampled(len(rows), GROUNDING_TEXTS)[0]]
    scores = class_scores(model.labels, task.labels, found)
    heaviest, heavy_words = registers.result(), words.result()
    texts = [task.split.texts[row] for row in rows]
    suspects = artefacts(heavy_words, texts, registers.heavy_tokens(), model.vocabulary)
    return Evaluation(
        **vars(scores),
        dla=DLACheck(float(error.max()), float(error.mean())),
        active_tokens=active_tokens(active),
        sparsity=1 - float(active.mean()) / model.vocab_size,
        completeness=completeness.result(),
        completeness_tokens=completeness_tokens.result(),
        separation=separation.result(seed),
        grounding=Grounding(
            input_share=there / total if total else 0.0,
            frozen_share=frozen_share(model, frozen, task, sample, config.batch_size) if frozen is not None else None,
            self_activation=self_activation(model, task, sample),
            lexicon=lexicon.result() if lexicon is not None else None,
            texts=len(sample),
            heaviest=heaviest,
            heaviest_word=heavy_words[0] if heavy_words else None,
            artefacts=suspects,
        ),
        evaluated=len(rows),
        findings=[*class_findings(scores), *contribution_findings(heaviest, heavy_words, suspects)],
    )


def sampled(rows: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are looked at, ascending, and the others: all and none if there are no more than `most` or it is -1.

    Always the same ones, whatever the run's seed, so that seeds are compared on the same texts.
    """
    if most == ALL_ROWS or most >= rows:
        return np.arange(rows), np.arange(0)
    order = np.random.default_rng(TEST_SEED).permutation(rows)
    return np.sort(order[:most]), np.sort(order[most:])


def lexicon_meter(model: LexicalSAE, config: EvaluationConfig) -> tuple[LexiconMeter | None, int | None]:
    """What measures agreement with the lexicon asked for, and the class its good words should speak for."""
    if config.lexicon is None:
        return None, None
    if model.task == "tagging":
        raise ConfigError(
            "evaluation.lexicon is set, but a tagger's words are neither good nor bad; leave it null for tagging."
        )
    positive = positive_class(model.labels)
    if positive is None:
        raise ConfigError(
            f"evaluation.lexicon is set, but none of the labels {', '.join(model.labels)} is called positive; leave it "
            "null for data without good and bad."
        )
    return LexiconMeter(config.lexicon, load_lexicon(config.lexicon), model.vocabulary), positive


def active_tokens(counts: np.ndarray) -> ActiveTokens:
    """The spread of the active tokens of each row (R,)."""
    heights, edges = np.histogram(counts, bins=min(30, max(1, int(counts.max()) + 1)))
    return ActiveTokens(
        float(counts.mean()),
        float(np.percentile(counts, 50)),
        float(np.percentile(counts, 95)),
        int(counts.max()),
        {"edges": edges.tolist(), "counts": heights.tolist()},
    )
