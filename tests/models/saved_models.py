"""Saved models to test with: what they answer, and what refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.errors import ModelError
from splade.models.lexical_sae import LexicalSAE
from tests.builders import encode, toy_reviews

TEXTS = [*toy_reviews(12)[0], "unwatchable unlovely", "", "ü 👍"]


@torch.no_grad()
def logits(model: LexicalSAE) -> torch.Tensor:
    return model.classify(model(*encode(model, TEXTS))).logits


def expect(folder: Path, *parts: str) -> None:
    with pytest.raises(ModelError) as error:
        LexicalSAE.from_pretrained(folder)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


def hidden(folder: Path) -> list[str]:
    """What a save might leave behind."""
    return [path.name for path in folder.glob(".*")]
