"""Deleting words from a text: the backbone reads another text. Not the same as shutting a token or silencing a word,
which change what is heard of the text as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from splade.attribution.word_text import WordText
from splade.data.given import given_texts
from splade.models.protocol import LexicalModel
from splade.surgery.probes import probe_logits
from splade.task_description import describe
from splade.tasks import TASKS

Example = str | list[str]


@dataclass(frozen=True)
class DeletionEffect:
    """What deleting words from a text does to its predictions."""

    text: Example
    shorter: Example
    """Without the words; the same where none of them stands in it."""
    deleted: tuple[int, ...]
    """Numbers of the words deleted."""
    before: list[dict[str, float]]
    """Logits by label: of the text, or of a tagger those of each word that is left."""
    after: list[dict[str, float]]

    @property
    def change(self) -> list[dict[str, float]]:
        """By label: the logit without the words less the logit with them."""
        rows = zip(self.before, self.after, strict=True)
        return [{label: after[label] - value for label, value in before.items()} for before, after in rows]


def delete_words(model: LexicalModel, texts: Iterable[Any], words: Iterable[str]) -> list[Example]:
    """The texts without some words, whatever their case."""
    return [_without(model, text, words)[0] for text in TASKS.get(model.task).given(texts).items]


def deletion_effect(model: LexicalModel, texts: Iterable[Any], words: Iterable[str]) -> list[DeletionEffect]:
    """What deleting some words from texts does to the model's predictions of them."""
    asked = given_texts([words] if isinstance(words, str) else words).items
    effects = []
    for text in TASKS.get(model.task).given(texts).items:
        shorter, gone = _without(model, text, asked)
        before, after = probe_logits(model, [text, shorter])
        if not describe(model.task).decides_on_texts:
            before = [row for number, row in enumerate(before) if number not in gone]
        by_label = [[dict(zip(model.labels, row, strict=True)) for row in rows] for rows in (before, after)]
        effects.append(DeletionEffect(text, shorter, gone, *by_label))
    return effects


def _without(model: LexicalModel, text: Example, words: Iterable[str]) -> tuple[Example, tuple[int, ...]]:
    names = {model.vocabulary.normalise(word) for word in ([words] if isinstance(words, str) else words)} - {""}
    of_text: Sequence[str] = TASKS.get(model.task).words_of(text)
    gone = tuple(number for number, word in enumerate(of_text) if model.vocabulary.normalise(word) in names)
    return without_words(model, text, gone), gone


def without_words(model: LexicalModel, text: Example, gone: Collection[int]) -> Example:
    """A text without some of its words, by number, as the model's task counts them (`Task.words_of`)."""
    if isinstance(text, str) and describe(model.task).decides_on_texts:
        return WordText.of(text).shortened(gone).text if gone else text
    return [word for number, word in enumerate(TASKS.get(model.task).words_of(text)) if number not in gone]
