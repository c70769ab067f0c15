"""Activations: how strongly vocabulary tokens fired at each word, whatever the head makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.subject import Subject
from splade.models.protocol import LexicalModel, is_lexical
from splade.models.state import CircuitState
from splade.tasks.documents import read_documents


@EXPLAINERS.register("activations")
class Activations(Explainer):
    """The sum of the activations that arose at a word; the same for every class.

    All that can be said of a model before its training, when its head is still silent: which words are let to speak.
    """

    by_words = True

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        found: dict[int, WordScores] = {}
        with torch.no_grad():
            for batch in subject.read(texts):
                _, position, value = subject.state(batch).rows.by_position()
                at_positions = value.new_zeros(batch.input_ids.numel()).index_add(0, position, value)  # (B·L,)
                words = batch.sum_words(at_positions.view_as(batch.input_ids))
                found |= {row: WordScores(words[n].double().numpy()) for n, row in enumerate(batch.rows)}
        return [found[row] for row in range(len(texts))]

    def explain_documents(
        self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]
    ) -> list[np.ndarray]:
        assert is_lexical(subject.model)
        found: dict[int, np.ndarray] = {}
        words = [text.words for text in texts]
        for batch in read_documents(subject.model, words, subject.batch_size, subject.max_length):
            found |= dict(zip(batch.rows, batch.sum_words(batch.state.rows), strict=True))
        return [found[row] for row in range(len(texts))]

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        return state.rows.value
