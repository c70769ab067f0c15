"""Models to operate on, each with what differs between them: support, tokenizer, head, pooling, senses, task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from splade.models.lexical_sae import LexicalSAE
from splade.models.removal import Silence
from splade.models.state import CircuitState
from tests.builders import WORDS, build_model, encode
from tests.models.open_word_models import KNOWN, TEXTS, UNMET, with_senses

SUPPORTS = ["full", "neighbourhood", "dictionary", "neighbourhood+dictionary"]

#: What random texts are made of: words of one token, words that the tokenizer splits, marks.
PARTS = [*WORDS[:60], "Film", "MOVIE", *KNOWN, *UNMET, ".", ","]

VARIANTS: dict[str, dict[str, Any]] = {
    **{support: {"support": support} for support in SUPPORTS},
    "byte-level": {"family": "roberta", "head": "tied_mlp"},
    "unigram": {"family": "deberta", "head": "tied_mlp"},
    "bcos": {"head": "bcos"},
    "attention": {"support": "neighbourhood+dictionary", "pooling": "attention"},
    "senses": {"senses": 3},
}

CONTEXT = {"head": "tied_mlp", "context": 2, "task": "tagging", "neighbour_similarity": -1.0}


def variant(folder: Path, name: str) -> LexicalSAE:
    """A model of which about every word speaks that may."""
    settings = VARIANTS[name]
    if "senses" in settings:
        return with_senses(folder)
    model = build_model(folder, texts=TEXTS, active=30, **settings)
    with torch.no_grad():
        model.encoder.bias += 3.0
    return model


@torch.no_grad()
def state_of(model: Any, texts: list[str]) -> CircuitState:
    ids, mask = encode(model, texts)
    return model.classify(model(ids, mask), mask)


def places_of(model: Any, texts: list[str], words: list[str]) -> Tensor:
    """(B·L,) bool: where words stand."""
    ids, mask = encode(model, texts)
    return Silence(model.vocabulary, words).positions(ids, mask.bool()).flatten()


def sums(state: CircuitState) -> Tensor:
    """(R, C) Σ_j s_j·W_eff[c, j] + b_eff[c], by the dense tensors."""
    return torch.einsum("bv,bcv->bc", state.sparse_vector, state.W_eff) + state.b_eff
