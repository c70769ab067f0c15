"""One row of the comparison of explainers: how faithful, how exact, how constant and how dear its explanations are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splade.evaluation.deletion_fidelity import DeletionFidelity, WordEffects, kendall_tau, mean_fidelity
from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.explained_texts import ComparedTexts, Decisions, Explained, Told
from splade.evaluation.paired import Difference, paired_difference
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
    texts: int
    """With active tokens."""
    naopc_texts: int
    """Of them, those that NAOPC is of: of the others bounds were not looked for, or all orders are alike."""
    clamped: int
    """Of these, those in which an order lay beyond the bounds that a search had found, and was put at the bound."""


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
    """Scores against what deleting single words does; without those `IN_LOGITS` where scores have another unit."""
    sum_error: SumError | None
    """None: it does not claim to add up to this logit."""
    agreement: Estimate | None
    """Average precision against the words that people marked; None: nobody did."""
    stability: float | None
    stability_texts: int
    passes: float
    """Mean over the timed texts."""
    seconds: float
    """Median over the timed texts, each explained alone."""
    timed_texts: int
    """Texts that all explainers explained; passes and seconds are of these."""
    tokens: TokenFigures | None
    """None: it cannot say, or the model does not decide by tokens."""
    against_ours: dict[str, Difference]
    """Its value less that of our own sums on the same model and texts, by figure: `COMPARED`, `AT_TOKENS`."""


COMPARED = (*CHANGES, "tau", "agreement")
"""Figures at the words that are a mean over texts, and so are compared text by text."""

IN_LOGITS = ("r2", "right_sign")
"""Figures of deletion that ask how large a score is, and not only which is larger."""

AT_TOKENS = ("comprehensiveness", "sufficiency", "naopc_comprehensiveness", "naopc_sufficiency")
"""The same of the tokens; among the differences, each after `tokens.`."""


@dataclass(frozen=True)
class TextValues:
    """What an explainer is worth on each text; NaN: it has no such value."""

    words: np.ndarray
    """(n, 6) the COMPARED figures."""
    tokens: np.ndarray | None = None
    """(n, 5) those AT_TOKENS, and whether NAOPC was clamped; None: it cannot rank tokens."""


def explainer_figures(
    explained: Explained,
    values: TextValues,
    decisions: Decisions,
    seed: int,
    *,
    timed: int | None = None,
    ours: TextValues | None = None,
) -> ExplainerFigures:
    """The figures of what one explainer said.

    Args:
        timed: the texts, from the first on, that its cost is of: those that all have explained; None: its own.
        ours: what our own sums are worth, on these texts or more.
    """
    n, cost = len(explained), slice(timed)
    found = dict(zip(COMPARED, estimates(values.words, np.arange(n), seed), strict=True))
    return ExplainerFigures(
        texts=n,
        **{name: found[name] for name in CHANGES},
        deletion=_deletion(explained, decisions, seed),
        sum_error=_sum_error(explained, decisions),
        agreement=found["agreement"],
        stability=explained.stability,
        stability_texts=explained.stability_texts,
        passes=float(np.mean(explained.passes[cost])),
        seconds=float(np.median(explained.seconds[cost])),
        timed_texts=len(explained.seconds[cost]),
        tokens=_token_figures(values.tokens, seed),
        against_ours=_differences(values, ours, seed) if ours is not None else {},
    )


def _deletion(explained: Explained, decisions: Decisions, seed: int) -> DeletionFidelity:
    """Figures that compare sizes are left out where scores are in another unit than the logit."""
    found = mean_fidelity([word_effects(told, decisions) for told in explained.told], seed)
    if explained.in_logits:
        return found
    spread = {name: ends for name, ends in found.intervals.items() if name not in IN_LOGITS}
    return replace(found, r2=None, right_sign=None, intervals=spread)


def _token_figures(values: np.ndarray | None, seed: int) -> TokenFigures | None:
    if values is None or not len(values):
        return None
    found = dict(zip(AT_TOKENS, estimates(values[:, : len(AT_TOKENS)], np.arange(len(values)), seed), strict=True))
    texts, bounded = (int((~np.isnan(values[:, column])).sum()) for column in (0, 2))
    clamped = int((values[:, -1] > 0).sum())
    return TokenFigures(
        found["comprehensiveness"],
        found["sufficiency"],
        found["naopc_comprehensiveness"],
        found["naopc_sufficiency"],
        texts,
        bounded,
        clamped,
    )


def _differences(values: TextValues, ours: TextValues, seed: int) -> dict[str, Difference]:
    n, pairs = len(values.words), dict[str, tuple[np.ndarray, np.ndarray]]()
    for name, theirs, mine in zip(COMPARED, values.words.T, ours.words[:n].T, strict=True):
        pairs[name] = theirs, mine
    if values.tokens is not None and ours.tokens is not None:
        for name, theirs, mine in zip(AT_TOKENS, values.tokens.T, ours.tokens[:n].T, strict=False):
            pairs[f"tokens.{name}"] = theirs, mine
    found = {name: paired_difference(theirs, mine, seed) for name, (theirs, mine) in pairs.items()}
    return {name: difference for name, difference in found.items() if difference is not None}


def text_values(explained: Explained, compared: ComparedTexts, decisions: Decisions) -> np.ndarray:
    """(n, 6) the COMPARED figures of each text; NaN: it has no such value. Of several draws, the mean."""
    return np.mean([_values(told, compared, decisions) for told in explained.told], 0)


def _values(told: Told, compared: ComparedTexts, decisions: Decisions) -> np.ndarray:
    """(n, 6)."""
    values = np.full((len(told.scores), len(COMPARED)), np.nan)
    for n, (scores, changes) in enumerate(zip(told.scores, told.changes, strict=True)):
        values[n, : len(changes)] = changes
        if (marked := compared.marked[n]) is not None:
            values[n, -1] = average_precision(marked, np.array(scores))
    for n, text in enumerate(word_effects(told, decisions)):
        if len(text.shares) > 1:
            values[n, -2] = kendall_tau(text)
    return values


def word_effects(told: Told, decisions: Decisions) -> list[WordEffects]:
    """The scores of the words that were deleted, and what deleting them did."""
    found: list[WordEffects] = []
    for scores, deleted, effects in zip(told.scores, decisions.deleted, decisions.effects, strict=False):
        found.append(WordEffects(np.array(scores)[deleted], np.array(effects)))
    return found


def _sum_error(explained: Explained, decisions: Decisions) -> SumError | None:
    if explained.totals is None:
        return None
    errors = np.abs(np.array(explained.totals) - decisions.logits[: len(explained.totals)])
    return SumError(float(np.median(errors)), float(errors.max()))
