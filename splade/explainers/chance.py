"""Explanations that know nothing: what every other must beat."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.subject import Subject
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState

CHANCE_DRAWS = 5
"""Draws whose mean stands for chance: a single one may be lucky."""


def text_generator(seed: int, text: WordText) -> np.random.Generator:
    """What is drawn for a text, the same whichever other texts are asked about."""
    return np.random.default_rng((seed, zlib.crc32(text.text.encode())))


@EXPLAINERS.register("random")
class Random(Explainer):
    """Scores drawn from a normal distribution."""

    by_chance = True

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        seed = self.parts.seed
        return [WordScores(text_generator(seed, text).standard_normal(len(text))) for text in texts]

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(self.parts.seed)
        return torch.randn(len(state.rows), generator=generator).to(state.rows.value.device)


@EXPLAINERS.register("empty")
class Empty(Explainer):
    """Nothing said of any word; a measure that rewards silence shows here. Whoever asks for an order draws one."""

    by_chance = True
    in_logits = True  # nothing is nothing in every unit

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return [WordScores(np.zeros(len(text))) for text in texts]

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        return torch.zeros_like(state.rows.value)
