"""Attention: how much the last layer looks at a word."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores, in_order
from splade.explainers.subject import ReadBatch, Subject


@EXPLAINERS.register("attention")
class Attention(Explainer):
    """score(w) = attention that the word's pieces receive in the last layer, mean over heads and over the positions
    that look; it has no sign, and is the same whatever the class."""

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return in_order(
            (row, WordScores(received.double().numpy()))
            for batch in subject.read(texts)
            for row, received in zip(batch.rows, batch.sum_words(_received(subject, batch)), strict=True)
        )


def _received(subject: Subject, batch: ReadBatch) -> Tensor:
    """(B, L) mean over heads and over the positions that look, padding left out."""
    attention = subject.attention(batch)  # (B, heads, L, L)
    looking = batch.attention_mask.to(attention) / batch.attention_mask.sum(1, keepdim=True)  # (B, L)
    return torch.einsum("bhqk,bq->bk", attention, looking) / attention.shape[1]
