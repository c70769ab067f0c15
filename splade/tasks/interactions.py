"""Words deleted from texts, and the texts read again: explanations get their interactions."""

from __future__ import annotations

from collections.abc import Sequence
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


@torch.no_grad()
def with_interactions(
    model: LexicalSAE, explanations: Sequence[Explanation], deletions: Deletions, batch_size: int = BATCH_SIZE
) -> list[Explanation]:
    """The explanations, each with what deleting its words does.

    A reading for each deletion; the shortened texts of all are batched together.
    """
    texts = [explanation.text for explanation in explanations]
    asked = deletions.of_texts(texts)
    plans = [_plan(model, one, its, deletions) for one, its in zip(explanations, asked, strict=True)]
    owners = [(plan, gone) for plan in plans for gone in plan.deleted]
    after = iter(_read_without(model, owners, batch_size))
    return [
        replace(plan.explanation, interactions=_measured(plan, {gone: next(after) for gone in plan.deleted}, deletions))
        for plan in plans
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


def _read_without(model: LexicalSAE, owners: list[tuple[_Plan, frozenset[int]]], batch_size: int) -> list[WordSum]:
    """The sum of each text without the words deleted, for the target of its explanation."""
    shorter = [plan.text.shortened(gone) for plan, gone in owners]
    targets = [model.labels.index(plan.explanation.target) for plan, _ in owners]
    found: dict[int, WordSum] = {}
    for batch in read_texts(model, [text.text for text in shorter], batch_size, [text.spans for text in shorter]):
        classes = torch.tensor([targets[row] for row in batch.rows], device=batch.state.logits.device)
        summands = Summands(model, batch.state, classes)
        for i, row in enumerate(batch.rows):
            found[row] = summands.word_sum(i, batch.texts[i])
    return [found[row] for row in range(len(owners))]


def _measured(plan: _Plan, after: dict[frozenset[int], WordSum], deletions: Deletions) -> Interactions:
    explanation = plan.explanation
    nowhere = [word.score for word in explanation.words if word.start == word.end]
    shares = [*(word.score for word in plan.words), sum(nowhere)]
    before = WordSum(explanation.label, explanation.logits[explanation.target], explanation.bias, shares)

    def of(gone: frozenset[int]) -> Interaction:
        reached = any(plan.words[n].start < plan.read_to for n in gone)
        return interaction(plan.words, before, after[gone], gone, shifted=explanation.truncated and reached)

    measured = {gone: of(gone) for gone in plan.deleted}
    single = [one for gone, one in measured.items() if len(gone) == 1]
    return Interactions(
        explanation.label,
        explanation.target,
        sorted(single, key=lambda one: one.numbers),
        [_with_pair(measured[gone], measured) for gone in plan.spans],
        every=deletions.every,
        left_out=sum(word.start < plan.read_to for word in plan.words) - len(plan.single),
        not_found=plan.asked.not_found,
    )


def _with_pair(both: Interaction, measured: dict[frozenset[int], Interaction]) -> Interaction:
    """With what two words do together beyond what each does alone."""
    if len(both.numbers) != 2:
        return both
    return replace(both, together=both.effect - sum(measured[frozenset([n])].effect for n in both.numbers))
