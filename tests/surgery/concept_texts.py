"""Made-up texts about a group, and a model of which every word says just what it says alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.models.encoder import SparseSequence
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model

NEUTRAL = ["cast", "scene", "music", "ending", "charming", "boring", "dull", "witty"]
WORD, PROXY, FREQUENT = "london", "german", "movie"


def concept_texts(count: int, seed: int, share: float = 0.4) -> tuple[list[str], np.ndarray]:
    """Texts of three neutral words each, and whether each is about the group: then *london* or *german*, or both, stand
    there too, and mostly not else. *movie* stands in most texts, whomever they are about."""
    generator = random.Random(seed)
    texts, about = [], []
    for number in range(count):
        inside = number < share * count
        words = generator.sample(NEUTRAL, 3)
        words += [WORD] if generator.random() < (0.7 if inside else 0.02) else []
        words += [PROXY] if generator.random() < (0.5 if inside else 0.02) else []
        words += [FREQUENT] if generator.random() < 0.8 else []
        generator.shuffle(words)
        texts.append(" ".join(words))
        about.append(inside)
    return texts, np.array(about)


def plain_model(folder: Path, **settings: Any) -> LexicalSAE:
    """A model in which no word hears another: the state at a position is the embedding of its token. Every second word
    of the texts speaks for the first class, a little louder, and the others for the second."""
    model = build_model(folder, **{"active": 30, "neighbours": 1, **settings})
    with torch.no_grad():
        model.encoder.bias += 20.0
        for parameter in model.head.parameters():
            parameter.zero_()
        for number, word in enumerate([*NEUTRAL, WORD, PROXY, FREQUENT]):
            model.head.words[model.vocabulary.match(word), number % 2] = 0.05 - 0.005 * (number % 2)  # type: ignore[index]
        model.head.out.weight[:, :2] = 2 * torch.eye(2) - 1  # type: ignore[union-attr, index]

    def forward(input_ids: Tensor, attention_mask: Tensor) -> SparseSequence:
        return SparseSequence(F.embedding(input_ids, model.encoder.weight), input_ids, attention_mask, model.encoder)

    model.forward = forward  # type: ignore[method-assign]
    return model
