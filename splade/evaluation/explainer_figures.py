"""One row of the comparison of explainers: how faithful, how exact, how constant and how dear its explanations are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splade.evaluation.deletion_fidelity import DeletionFidelity, WordEffects, deletion_fidelity, kendall_tau
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.explained_texts import ComparedTexts, Decisions, Explained
from splade.evaluation.rationale_scores import average_precision
from splade.evaluation.word_faithfulness import CHANGES


@dataclass(frozen=True)
class SumError:
    """|Σ scores + base − logit|: what the explanation leaves out of the number it explains."""

    median: float
    max: float


@dataclass(frozen=True)
class TokenFigures:
    """Faithfulness at the bottleneck, where vocabulary tokens are removed and only the head runs again."""

    comprehensiveness: Estimate | None
    sufficiency: Estimate | None
    naopc_comprehensiveness: Estimate | None
    """Between the worst (0) and the best (1) order of the same tokens."""
    naopc_sufficiency: Estimate | None


@dataclass(frozen=True)
class ExplainerFigures:
    """Of one explainer on one model."""

    texts: int
    comprehensiveness: Estimate | None
    """Probability lost without the words named first; of each of the four, the mean over shares of words."""
    sufficiency: Estimate | None
    """Probability lost with these words alone."""
    masked_comprehensiveness: Estimate | None
    """The same with the mask token in the place of words; None: there is none."""
    masked_sufficiency: Estimate | None
    deletion: DeletionFidelity
    """Scores against what deleting single words does."""
    sum_error: SumError | None
    """None: it does not claim to add up."""
    agreement: Estimate | None
    """Average precision against the words that people marked; None: nobody did."""
    stability: float | None
    stability_texts: int
    passes: float
    seconds: float
    tokens: TokenFigures | None
    """None: it cannot say, or the model does not decide by tokens."""
    against_ours: dict[str, Estimate]
    """Its value less that of our own sums on the same model and texts, by figure: `COMPARED`."""


COMPARED = (*CHANGES, "tau", "agreement")
"""Figures that are a mean over texts, and so are compared text by text."""


def explainer_figures(
    explained: Explained,
    compared: ComparedTexts,
    decisions: Decisions,
    seed: int,
    *,
    tokens: np.ndarray | None = None,
    ours: np.ndarray | None = None,
) -> ExplainerFigures:
    """The figures of what one explainer said; `tokens` (n, 4): its values at the bottleneck, and `ours` (N, 6): the
    `text_values` of our own sums."""
    n = len(explained.scores)
    effects = word_effects(explained, decisions)
    values = text_values(explained, compared, decisions)
    found = dict(zip(COMPARED, estimates(values, np.arange(n), seed), strict=True))
    differences = estimates(values - ours[:n], np.arange(n), seed) if ours is not None else [None] * len(COMPARED)
    of_tokens = estimates(tokens, np.arange(len(tokens)), seed) if tokens is not None and len(tokens) else None
    return ExplainerFigures(
        texts=n,
        **{name: found[name] for name in CHANGES},
        deletion=deletion_fidelity(effects, seed),
        sum_error=_sum_error(explained, decisions),
        agreement=found["agreement"],
        stability=explained.stability,
        stability_texts=explained.stability_texts,
        passes=explained.passes,
        seconds=explained.seconds,
        tokens=TokenFigures(*of_tokens) if of_tokens else None,
        against_ours={name: each for name, each in zip(COMPARED, differences, strict=True) if each is not None},
    )


def text_values(explained: Explained, compared: ComparedTexts, decisions: Decisions) -> np.ndarray:
    """(n, 6) the COMPARED figures of each text; NaN: it has no such value."""
    values = np.full((len(explained.scores), len(COMPARED)), np.nan)
    for n, (scores, changes) in enumerate(zip(explained.scores, explained.changes, strict=True)):
        values[n, : len(changes)] = changes
        if (marked := compared.marked[n]) is not None:
            values[n, -1] = average_precision(marked, np.array(scores))
    for n, text in enumerate(word_effects(explained, decisions)):
        if len(text.shares) > 1:
            values[n, -2] = kendall_tau(text)
    return values


def word_effects(explained: Explained, decisions: Decisions) -> list[WordEffects]:
    """The scores of the words that were deleted, and what deleting them did."""
    found: list[WordEffects] = []
    for scores, deleted, effects in zip(explained.scores, decisions.deleted, decisions.effects, strict=False):
        found.append(WordEffects(np.array(scores)[deleted], np.array(effects)))
    return found


def _sum_error(explained: Explained, decisions: Decisions) -> SumError | None:
    if explained.totals is None:
        return None
    errors = np.abs(np.array(explained.totals) - decisions.logits[: len(explained.totals)])
    return SumError(float(np.median(errors)), float(errors.max()))
