"""The chosen words taken away, and random ones of the same number and frequency as the control."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import PositiveInt
from splade.config.variants import SETTINGS
from splade.models.removal import Removal
from splade.studies.conditions.base import CONDITIONS, PLAIN, Condition, Ran, name_of
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import Codes


@CONDITIONS.register("suppression")
class Suppression(Condition):
    """The words that were chosen are silenced, or their tokens shut."""

    title = "suppression"
    about = "Where a removed word stands, nothing speaks. The sum stays short, and every word in it is one of the text."

    def codes(self, part: CodedTexts) -> Codes:
        return part.codes[PLAIN].without(self.bench.model, self.removal)

    @property
    def removal(self) -> Removal:
        return self.bench.words.removal

    def removed(self) -> list[str]:
        return self.bench.words.words


@CONDITIONS.register("suppression_refit")
class SuppressionRefit(Suppression):
    """The same, and the head learns again on the same texts without these words."""

    title = "suppression + refit"
    about = "The words are removed from the training texts too, and the head learns again on them; labels stay biased."
    refits = True


@settings_dataclass(config=SETTINGS, frozen=True)
class RandomSettings:
    """How often chance is asked."""

    random_draws: PositiveInt = 3
    """Draws of random words, of the same number and about as frequent, that suppression is held against."""


@CONDITIONS.register("random")
class RandomWords(Suppression):
    """Random words about as frequent as those that were chosen, and as many."""

    title = "random words"
    about = "As many random words, each found in about as many training texts as one that was chosen: the control."
    Settings = RandomSettings
    _drawn: list[str]

    def run(self) -> Iterator[Ran]:
        for draw in range(self.bench.settings.of(RandomSettings).random_draws):
            self._drawn = matched_words(
                self.bench.training.codes[PLAIN], self.bench.words.words, self.bench.seed + draw
            )
            ran = self.ran(name_of(type(self)))
            yield replace(ran, name=f"{ran.name} {draw + 1}")

    @property
    def removal(self) -> Removal:
        return Removal(words=frozenset(self._drawn))

    def removed(self) -> list[str]:
        return self._drawn


@CONDITIONS.register("random_refit")
class RandomRefit(RandomWords):
    """The control of suppression with a refit."""

    title = "random words + refit"
    about = "The same control, with the head refitted."
    refits = True


NEAREST = 20
"""Words nearest in frequency among which one is drawn."""


def matched_words(codes: Codes, words: list[str], seed: int) -> list[str]:
    """As many other words that speak in codes, each in about as many texts as one of `words`."""
    pairs = np.unique(codes.row.astype(np.int64) * len(codes.words) + codes.word)
    counts = np.bincount(pairs % len(codes.words), minlength=len(codes.words))  # texts of each word
    number = {word: place for place, word in enumerate(codes.words)}
    free = np.array([bool(word) and word not in words for word in codes.words]) & (counts > 0)
    generator, drawn = np.random.default_rng(seed), []
    for word in words:
        candidates = np.flatnonzero(free)
        if not len(candidates):
            break
        wanted = counts[number[word]] if word in number else 0
        near = candidates[np.argsort(np.abs(np.log1p(counts[candidates]) - np.log1p(wanted)), kind="stable")[:NEAREST]]
        place = int(generator.choice(near))
        free[place] = False
        drawn.append(codes.words[place])
    return drawn
