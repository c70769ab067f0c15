"""What a model says of test texts, row by row: of each text, or of each word that is or should be part of an entity.

All numbers come from `compute_attribution_tensor` and from the sums made of it (`Summands`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from splade.attribution.explanation import NO_WORD, Explanation
from splade.attribution.summands import Summands
from splade.attribution.tagged import OUTSIDE
from splade.data.types import TaggedSplit, TextSplit
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.state import CircuitState
from splade.registry import Registry
from splade.tasks import TASKS
from splade.tasks.reader import read_texts
from splade.tasks.sentences import as_sentence, tag_sentences

Place = tuple[str, int, int]
"""A word of the text, and the characters where it stands."""

BATCH = 8
"""Rows read at a time: whoever asks meanwhile waits for no more."""


@dataclass(frozen=True)
class Pull:
    """What one word, or of a tagger one token, adds to a wrong label beyond what it adds to the right one."""

    name: str
    place: Place
    pull: float


@dataclass(frozen=True)
class Reading:
    """One row."""

    text: str
    number: int | None
    """Of a tagger: the word."""
    label: str
    gold: str
    probability: float
    """Of the label."""
    tokens: list[str]
    """Names of the vocabulary tokens that spoke, each once, in lower case."""
    scores: np.ndarray
    """(n, C) what each adds to each label's logit."""
    places: dict[str, Place]
    """Where each of them spoke most, if it was at a word."""
    sizes: list[float]
    """|score| of each word of the sum that spoke."""
    pull: Pull | None
    """What misled, of a mistake."""

    @property
    def is_mistake(self) -> bool:
        return self.label != self.gold


Reader = Callable[[Any, Any, Sequence[int]], Iterator[Reading]]
"""The readings of some examples of a split, by a model."""

READERS: Registry[Reader] = Registry("task")


@READERS.register("classification")
def read_of_texts(model: Any, split: TextSplit, rows: Sequence[int]) -> Iterator[Reading]:
    """A row a text."""
    for batch in read_texts(model, [split.texts[row] for row in rows], BATCH):
        state, decided = batch.state, batch.state.logits.argmax(-1)
        gold = torch.tensor([split.labels[rows[row]] for row in batch.rows], device=decided.device)
        said, right = (Summands(model, state, classes) for classes in (decided, gold))
        tokens = _tokens(model, state)
        for number, (names, scores) in enumerate(tokens):
            why = said.of_text(number, batch.texts[number])
            label, true = model.labels[int(decided[number])], model.labels[int(gold[number])]
            yield Reading(
                text=why.text,
                number=None,
                label=label,
                gold=true,
                probability=why.probabilities[label],
                tokens=names,
                scores=scores,
                places=_places(why),
                sizes=[abs(word.score) for word in why.words if word.parts],
                pull=_by_word(why, right.of_text(number, batch.texts[number])) if label != true else None,
            )


@READERS.register("tagging")
def read_of_tags(model: Any, split: TaggedSplit, rows: Sequence[int]) -> Iterator[Reading]:
    """A row a word that has a tag, or should have one."""
    kind = TASKS.get(model.task)
    sentences = [as_sentence(split.sentences[row]) for row in rows]
    gold = [model.labels[tag] for row in rows for tag in split.tags[row]]
    task = kind.unlabelled([sentence.words for sentence in sentences], model)
    tagged, states = tag_sentences(model, task, sentences, BATCH, keep_states=True)
    owners = [(n, number) for n, sentence in enumerate(sentences) for number in range(len(sentence.spans))]
    for batch in states:
        places = batch.places.tolist()
        chosen = [row for row, place in enumerate(places) if _named(tagged, owners[place]) or gold[place] != OUTSIDE]
        if not chosen:
            continue
        state = batch.state.take(torch.tensor(chosen, device=batch.state.logits.device))
        whose = [owners[places[row]] for row in chosen]
        tags, true = [tagged[n].words[number].tag for n, number in whose], [gold[places[row]] for row in chosen]
        said, right = (Summands(model, state, _classes(model, labels, state)) for labels in (tags, true))
        for row, (names, scores) in enumerate(_tokens(model, state)):
            n, number = whose[row]
            word = tagged[n].words[number]
            why = said.of_word(row, tagged[n], number, batch.length)
            against = right.of_word(row, tagged[n], number, batch.length)
            at = (word.word, word.start, word.end)
            yield Reading(
                text=why.text,
                number=number,
                label=word.tag,
                gold=true[row],
                probability=word.probability,
                tokens=names,
                scores=scores,
                places=_places(why),
                sizes=[abs(one.score) for one in why.words if one.parts],
                pull=_by_token(why, against, at) if word.tag != true[row] else None,
            )


def _named(tagged: Sequence[Any], owner: tuple[int, int]) -> bool:
    n, number = owner
    return bool(tagged[n].words[number].tag != OUTSIDE)


def _classes(model: Any, labels: Sequence[str], state: CircuitState) -> torch.Tensor:
    return torch.tensor([model.labels.index(label) for label in labels], device=state.logits.device)


def _tokens(model: Any, state: CircuitState) -> list[tuple[list[str], np.ndarray]]:
    """Of each row the names of the tokens that spoke, each once, and what they add to each label (n, C)."""
    rows, vocabulary = state.rows, model.vocabulary
    size = len(state.logits)
    by_class = [
        compute_attribution_tensor(state, torch.full((size,), number, device=rows.row.device)).value
        for number in range(len(model.labels))
    ]
    scores = torch.stack(by_class, 1).double().cpu().numpy()  # (N, C)
    named = (vocabulary.starts_word & ~vocabulary.special).to(rows.token.device)[rows.token].tolist()
    names: list[dict[str, int]] = [{} for _ in range(size)]
    totals: list[list[np.ndarray]] = [[] for _ in range(size)]
    entries = zip(rows.row.tolist(), rows.token.tolist(), named, scores, strict=True)
    for row, token, is_word, score in entries:
        if not is_word:
            continue
        place = names[row].setdefault(vocabulary.names[token].lower(), len(totals[row]))
        if place < len(totals[row]):
            totals[row][place] = totals[row][place] + score
        else:
            totals[row].append(score)
    empty = np.zeros((0, len(model.labels)), np.float32)
    return [(list(own), np.array(sums, np.float32) if sums else empty) for own, sums in zip(names, totals, strict=True)]


def _places(why: Explanation) -> dict[str, Place]:
    """Where each token spoke most."""
    found: dict[str, tuple[float, Place]] = {}
    for word in why.words:
        for name, score in word.parts if word.word != NO_WORD else ():
            key = name.lower()
            if key not in found or abs(score) > found[key][0]:
                found[key] = abs(score), (word.word, word.start, word.end)
    return {name: place for name, (_, place) in found.items()}


def _by_word(said: Explanation, right: Explanation) -> Pull | None:
    """The word that pulls most from the right label to the one that was given."""
    pulls = [
        Pull(word.word.lower(), (word.word, word.start, word.end), word.score - other.score)
        for word, other in zip(said.words, right.words, strict=True)
        if word.word != NO_WORD
    ]
    return _most(pulls)


def _by_token(said: Explanation, right: Explanation, place: Place) -> Pull | None:
    """The vocabulary token that does."""
    other = {(token.token_id, token.offset): token.score for token in right.tokens}
    pulls = [
        Pull(token.token.lower(), place, token.score - other.get((token.token_id, token.offset), 0.0))
        for token in said.tokens
        if token.token_id >= 0
    ]
    return _most(pulls)


def _most(pulls: Sequence[Pull]) -> Pull | None:
    strongest = max(pulls, key=lambda pull: pull.pull, default=None)
    return strongest if strongest is not None and strongest.pull > 0 else None
