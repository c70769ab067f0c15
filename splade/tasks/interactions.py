"""Words deleted from texts, and the texts read again: explanations get their interactions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from splade.attribution.deletions import MOST_WORDS, Deletions, TextDeletions, words_in, words_to_delete
from splade.attribution.explanation import Explanation, WordScore
from splade.attribution.interactions import Interaction, Interactions, interaction
from splade.attribution.summands import Summands
from splade.attribution.sums import WordSum
from splade.attribution.word_text import WordText
from splade.data.given import BATCH_SIZE
from splade.models.lexical_sae import LexicalSAE
from splade.tasks.reader import read_texts

MOST_TEXTS, MOST_READINGS = 4, 400
"""Of a page of explanations: those that get interactions, and the readings spent on finding them."""


@dataclass(frozen=True)
class _Plan:
    """What is deleted from one explained text."""

    explanation: Explanation
    asked: TextDeletions
    text: WordText
    words: list[WordScore]
    """Those of the text, without the row of what arose at none."""
    read_to: int
    """One past the last character that the model reads."""
    single: list[int]
    spans: list[frozenset[int]]

    @property
    def deleted(self) -> list[frozenset[int]]:
        """Each of what is deleted once; of two words that go together, each alone too."""
        pairs = [frozenset([n]) for span in self.spans if len(span) == 2 for n in sorted(span)]
        return list(dict.fromkeys([*(frozenset([n]) for n in self.single), *pairs, *self.spans]))

    def effect(self, gone: frozenset[int], after: WordSum) -> Interaction:
        """What deleting some words does; `after`: the sum of the text without them."""
        whole = self.explanation
        nowhere = math.fsum(word.score for word in whole.words if word.start == word.end)
        shares = [*(word.score for word in self.words), nowhere]
        before = WordSum(whole.label, whole.logits[whole.target], whole.bias, shares)
        read = any(self.words[n].start < self.read_to for n in gone)
        return interaction(self.words, before, after, gone, shifted=whole.truncated and read)


@torch.no_grad()
def with_interactions(
    model: LexicalSAE, explanations: Sequence[Explanation], deletions: Deletions, batch_size: int = BATCH_SIZE
) -> list[Explanation]:
    """The explanations, each with what deleting its words does.

    A reading for each deletion; the shortened texts of all are batched together.
    """
    asked = deletions.of_texts([explanation.text for explanation in explanations])
    plans = [_plan(model, one, its, deletions) for one, its in zip(explanations, asked, strict=True)]
    measured: list[dict[frozenset[int], Interaction]] = [{} for _ in plans]
    for n, gone, after in _read_without(model, plans, batch_size):
        measured[n][gone] = plans[n].effect(gone, after)
    return [
        replace(plan.explanation, interactions=_interactions(plan, found, every=deletions.every))
        for plan, found in zip(plans, measured, strict=True)
    ]


def with_largest_interactions(model: LexicalSAE, explanations: Sequence[Explanation]) -> list[Explanation]:
    """The explanations, those few with interactions in which a word does most through others.

    Of the first texts that are short, as many as can be read again in a few seconds.
    """
    chosen, words = [], 0
    for n, explanation in enumerate(explanations):
        size = len(explanation.words)
        if size <= MOST_WORDS and words + size <= MOST_READINGS:
            chosen.append(n)
            words += size
    found = with_interactions(model, [explanations[n] for n in chosen], Deletions())
    order = sorted(zip(chosen, found, strict=True), key=lambda pair: -_largest(pair[1]))
    shown = {n: one for n, one in order[:MOST_TEXTS] if _largest(one) > 0}
    return [shown.get(n, explanation) for n, explanation in enumerate(explanations)]


def _largest(explanation: Explanation) -> float:
    return explanation.interactions.largest if explanation.interactions else 0.0


def _plan(model: LexicalSAE, explanation: Explanation, asked: TextDeletions, deletions: Deletions) -> _Plan:
    words = [word for word in explanation.words if word.start < word.end]
    read_to = len(explanation.text)
    if explanation.truncated:
        read = model.tokenizer(
            explanation.text, truncation=True, max_length=model.max_length, return_offsets_mapping=True
        )
        read_to = max(end for _, end in read["offset_mapping"])
    single = words_to_delete(words, read_to, every=deletions.every)
    spans = [words_in(words, span) for span in asked.spans]
    return _Plan(explanation, asked, WordText.of(explanation.text), words, read_to, single, spans)


def _read_without(
    model: LexicalSAE, plans: Sequence[_Plan], batch_size: int
) -> Iterator[tuple[int, frozenset[int], WordSum]]:
    """The sum of each text, by number, without the words deleted, for the target of its explanation."""
    owners = [(n, gone) for n, plan in enumerate(plans) for gone in plan.deleted]
    targets = [model.labels.index(plan.explanation.target) for plan in plans]
    shorter = [plans[n].text.without(gone) for n, gone in owners]

    def spans(row: int) -> Sequence[tuple[int, int]]:  # found when they are needed: of long texts they fill a memory
        n, gone = owners[row]
        return plans[n].text.shortened(gone).spans

    for batch in read_texts(model, shorter, batch_size, spans):
        classes = torch.tensor([targets[owners[row][0]] for row in batch.rows], device=batch.state.logits.device)
        summands = Summands(model, batch.state, classes)
        for i, row in enumerate(batch.rows):
            yield *owners[row], summands.word_sum(i, batch.texts[i])


def _interactions(plan: _Plan, measured: dict[frozenset[int], Interaction], *, every: bool) -> Interactions:
    single = [one for one in measured.values() if len(one.numbers) == 1]
    return Interactions(
        plan.explanation.label,
        plan.explanation.target,
        sorted(single, key=lambda one: one.numbers),
        [_with_pair(measured[gone], measured) for gone in plan.spans],
        every=every,
        left_out=sum(word.start < plan.read_to for word in plan.words) - len(plan.single),
        not_found=plan.asked.not_found,
    )


def _with_pair(both: Interaction, measured: dict[frozenset[int], Interaction]) -> Interaction:
    """With what two words do together beyond what each does alone."""
    if len(both.numbers) != 2:
        return both
    return replace(both, together=both.effect - sum(measured[frozenset([n])].effect for n in both.numbers))
