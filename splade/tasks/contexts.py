"""Words deleted from sentences, and the sentences read again: explained words get their context."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from splade.attribution.context import ContextEffect, ContextEffects, context_effect
from splade.attribution.summands import Summands
from splade.attribution.sums import TokenSum
from splade.attribution.tagged import ExplainedWord
from splade.data.words import word_windows
from splade.models.lexical_sae import LexicalSAE
from splade.tasks.reader import check_logits, read

if TYPE_CHECKING:
    from splade.tasks.tagging import TaggingTask

WORDS_AT_A_TIME = 50_000
"""Words tokenised before they are read: a long sentence has thousands of shortened ones, each nearly as long."""


@dataclass(frozen=True)
class _Shortened:
    """A sentence without one of its words."""

    sentence: int
    """Which of the sentences it is."""
    gone: int
    """Number of the word deleted."""
    asked: list[int]
    """Numbers, in the whole sentence, of the explained words that the deleted one is context of."""


@torch.no_grad()
def with_contexts(
    model: LexicalSAE,
    task: type[TaggingTask],
    sentences: Sequence[Sequence[str]],
    explained: Sequence[dict[int, ExplainedWord]],
    batch_size: int,
) -> list[dict[int, ExplainedWord]]:
    """The explained words of each sentence, by number, with what deleting each other word does.

    A word is deleted from the whole sentence, which is then read as any other is, in windows where it is long; of a
    long sentence, those words are deleted that are in the explained word's window. A reading for each word deleted,
    however many are explained; the shortened sentences of all are batched together.
    """
    shortened = [
        one
        for n, (words, its) in enumerate(zip(sentences, explained, strict=True))
        for one in _deletions(model, n, words, its.keys())
    ]
    effects: list[dict[int, list[ContextEffect | None]]] = [
        {number: [None] * len(words) for number in its} for words, its in zip(sentences, explained, strict=True)
    ]
    for group in _groups(shortened, sentences):
        for one, number, after in _read_again(model, task, sentences, group, explained, batch_size):
            whole = explained[one.sentence][number].explanation
            before = TokenSum(whole.logits[whole.target], whole.bias, whole.tokens)
            effects[one.sentence][number][one.gone] = context_effect(before, after)
    return [
        {number: replace(word, context=_context(word, found[number])) for number, word in its.items()}
        for its, found in zip(explained, effects, strict=True)
    ]


def _context(word: ExplainedWord, effects: list[ContextEffect | None]) -> ContextEffects:
    target = word.explanation.target
    return ContextEffects(word.number, target, word.explanation.logits[target], effects)


def _deletions(model: LexicalSAE, sentence: int, words: Sequence[str], asked: Collection[int]) -> list[_Shortened]:
    """Each word that an explained one is read with deleted: those that its window shows."""
    context_of: dict[int, list[int]] = {}
    for window in word_windows(words, model.tokenizer, model.max_length) if asked else ():
        for number in sorted(number for number in asked if window.first <= number < window.last):
            for gone in range(window.start, window.end):
                if gone != number:
                    context_of.setdefault(gone, []).append(number)
    return [_Shortened(sentence, gone, numbers) for gone, numbers in context_of.items()]


def _groups(shortened: list[_Shortened], sentences: Sequence[Sequence[str]]) -> Iterator[list[_Shortened]]:
    """Those that are tokenised at a time: many short sentences, or a few long ones."""
    group: list[_Shortened] = []
    words = 0
    for one in shortened:
        group.append(one)
        words += len(sentences[one.sentence])
        if words >= WORDS_AT_A_TIME:
            yield group
            group, words = [], 0
    if group:
        yield group


def _read_again(
    model: LexicalSAE,
    task: type[TaggingTask],
    sentences: Sequence[Sequence[str]],
    shortened: list[_Shortened],
    explained: Sequence[dict[int, ExplainedWord]],
    batch_size: int,
) -> Iterator[tuple[_Shortened, int, TokenSum]]:
    """The sum at each explained word of each shortened sentence, with the number of that word in the whole sentence."""
    shorter = [[*sentences[one.sentence][: one.gone], *sentences[one.sentence][one.gone + 1 :]] for one in shortened]
    starts = np.cumsum([0, *(len(words) for words in shorter)]).tolist()
    wanted = {
        starts[n] + number - (number > one.gone): (one, number)
        for n, one in enumerate(shortened)
        for number in one.asked
    }
    again = task.unlabelled(shorter, model).deciding(list(wanted))
    for batch, state in read(model, again, batch_size, again.deciding_windows()):
        check_logits(state.logits)
        owners = [wanted[place] for place in batch.places.tolist()]
        tags = [explained[one.sentence][number].explanation.target for one, number in owners]
        classes = torch.tensor([model.labels.index(tag) for tag in tags], device=state.logits.device)
        summands = Summands(model, state, classes)
        for row, (one, number) in enumerate(owners):
            yield one, number, summands.token_sum(row)
