"""Texts of a user through a tagger: which words they have, the tags of these, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from splade.attribution.conll_words import conll_word_spans
from splade.attribution.summands import Summands
from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText, TaggedWord
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import CircuitState
from splade.tasks.contexts import with_contexts
from splade.tasks.reader import check_logits, read

if TYPE_CHECKING:
    from splade.tasks.tagging import TaggingTask


@dataclass(frozen=True)
class Sentence:
    """A text and where its words are."""

    text: str
    spans: list[tuple[int, int]]

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]


@dataclass(frozen=True)
class WordStates:
    """The words of one batch; those of all texts are numbered end to end."""

    places: np.ndarray
    """(R,) which word each row is."""
    length: int
    """L of the batch's windows."""
    state: CircuitState


def as_sentence(text: str | Sequence[str]) -> Sentence:
    """A string is split into words as the CoNLL sets are; a list is of words, joined by spaces."""
    if isinstance(text, str):
        return Sentence(text, conll_word_spans(text))
    ends = np.cumsum([len(word) + 1 for word in text]).tolist()
    spans = [(end - len(word) - 1, end - 1) for word, end in zip(text, ends, strict=True)]
    return Sentence(" ".join(text), spans)


def tag_sentences(
    model: LexicalSAE, task: TaggingTask, sentences: Sequence[Sentence], batch_size: int, *, keep_states: bool = False
) -> tuple[list[TaggedText], list[WordStates]]:
    """The sentences, which are those of `task`, with their tags; with `keep_states`, also the states of all words."""
    logits = torch.zeros(len(task.labels), len(model.labels))
    active = torch.zeros(len(task.labels), dtype=torch.long)
    states = []
    for batch, state in read(model, task, batch_size):
        places = torch.from_numpy(batch.places)
        check_logits(state.logits)
        logits[places], active[places] = state.logits.cpu(), state.rows.counts.cpu()
        if keep_states:  # without the hidden states, which nobody asks for again
            kept = CircuitState(state.logits, state.rows, state.scores, state.region)
            states.append(WordStates(batch.places, batch.input_ids.shape[1], kept))
    tags, counts, cut = task.decode(logits).tolist(), active.tolist(), set(task.encoded.cut.tolist())
    tagged, first = [], 0
    for sentence in sentences:
        probabilities = logits[first : first + len(sentence.spans)].softmax(-1).tolist()
        words = [
            TaggedWord(
                word,
                *span,
                tag=model.labels[tags[first + number]],
                probabilities=dict(zip(model.labels, probabilities[number], strict=True)),
                active_tokens=counts[first + number],
                truncated=first + number in cut,
            )
            for number, (word, span) in enumerate(zip(sentence.words, sentence.spans, strict=True))
        ]
        tagged.append(TaggedText(sentence.text, words))
        first += len(words)
    return tagged, states


def explain_sentences(
    model: LexicalSAE,
    task: TaggingTask,
    sentences: Sequence[Sentence],
    batch_size: int,
    *,
    word: int | None,
    target: str | None,
    context: bool,
) -> list[ExplainedText]:
    """The words of entities explained, or `word` of every text; arguments as in `splade.tagging.explain_tags_batch`."""
    tagged, states = tag_sentences(model, task, sentences, batch_size, keep_states=True)
    starts = np.cumsum([0, *(len(text.words) for text in tagged)]).tolist()
    wanted = {starts[n] + number: (n, number) for n, text in enumerate(tagged) for number in _asked_for(text, word)}
    explained: list[dict[int, ExplainedWord]] = [{} for _ in tagged]
    for batch in states:
        rows = [row for row, place in enumerate(batch.places.tolist()) if place in wanted]
        if not rows:
            continue
        owners = [wanted[int(batch.places[row])] for row in rows]
        device = batch.state.logits.device
        tags = [target or tagged[n].words[number].tag for n, number in owners]
        classes = torch.tensor([model.labels.index(tag) for tag in tags], device=device)
        summands = Summands(model, batch.state.take(torch.tensor(rows, device=device)), classes)
        for row, (n, number) in enumerate(owners):
            explained[n][number] = ExplainedWord(number, summands.of_word(row, tagged[n], number, batch.length))
    if context:
        explained = with_contexts(model, type(task), [sentence.words for sentence in sentences], explained, batch_size)
    return [
        ExplainedText(text, [words[number] for number in sorted(words)])
        for text, words in zip(tagged, explained, strict=True)
    ]


def _asked_for(tagged: TaggedText, word: int | None) -> list[int]:
    if word is None:
        return [number for entity in tagged.entities for number in entity.words]
    return [word] if word < len(tagged.words) else []
