"""Content words: every word that is no stop word is a reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splade.attribution.word_text import WordText
from splade.data.stop_words import STOP_WORDS
from splade.explainers.chance import text_generator
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.subject import Subject


@EXPLAINERS.register("content_words")
class ContentWords(Explainer):
    """The words of letters that are no stop words, in random order, before all others, in random order too.

    It knows neither model nor class: what does not beat it has only learnt to leave out *the* and *of*. In random order
    because equal scores would be read together, which costs more than chance takes (`average_precision`).
    """

    title = "no stop words"
    by_chance = True

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        seed = self.parts.seed
        return [WordScores(_is_content(text) + text_generator(seed, text).random(len(text))) for text in texts]


def _is_content(text: WordText) -> np.ndarray:
    return np.array([word.isalpha() and word.lower() not in STOP_WORDS for word in text.words], dtype=float)
