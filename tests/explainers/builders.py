"""Subjects made by hand, whose true word scores are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from splade.explainers import Subject


class BagOfWords(Subject):
    """logit[1] = bias + Σ weight of the words there are, logit[0] its opposite; an unknown word weighs nothing."""

    def __init__(self, weights: Mapping[str, float], bias: float = 0.0, mask: str | None = "[MASK]"):
        self.weights, self.bias, self.passes, self.name = weights, bias, 0, "bag of words"
        self.tokenizer: Any = SimpleNamespace(mask_token=mask)

    def logits(self, texts: Sequence[str]) -> Tensor:
        self.passes += len(set(texts))
        sums = [self.bias + sum(self.weights.get(word, 0.0) for word in text.split()) for text in texts]
        return torch.tensor([[-each, each] for each in sums])


def subject(model: Any) -> Subject:
    return Subject(model, model.tokenizer, model.max_length, batch_size=4)
