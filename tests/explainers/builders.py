"""Subjects made by hand, whose true word scores are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from splade.evaluation.dense_baseline import DenseClassifier
from splade.explainers import Subject
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model


class BagOfWords(Subject):
    """logit[1] = bias + Σ weight of the words there are, logit[0] its opposite; an unknown word weighs nothing."""

    def __init__(self, weights: Mapping[str, float], bias: float = 0.0, mask: str | None = "[MASK]"):
        self.weights, self.bias, self.passes, self.name = weights, bias, 0, "bag of words"
        self.tokenizer: Any = SimpleNamespace(mask_token=mask)

    def logits(self, texts: Sequence[str]) -> Tensor:
        self.passes += len(set(texts))
        sums = [self.bias + sum(self.weights.get(word, 0.0) for word in text.split()) for text in texts]
        return torch.tensor([[-each, each] for each in sums])


def subject(model: Any, tokenizer: Any = None, batch_size: int = 4) -> Subject:
    return Subject(model, tokenizer or model.tokenizer, 64, batch_size)


def dense_subject(tmp_path: Path, family: str = "bert") -> Subject:
    """The dense baseline on a tiny backbone."""
    model: LexicalSAE = build_model(tmp_path, family=family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dense = DenseClassifier(model.backbone, model.labels, 16, "float32").eval()
    return subject(dense, model.tokenizer)
