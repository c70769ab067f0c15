"""What saved settings say, and what those of earlier versions mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from splade.models.heads import MLPSettings
from splade.models.record import FORMAT, check_settings


def settings(**model: Any) -> dict[str, Any]:
    return {"format": FORMAT, "model": model, "labels": ["a", "b"], "max_length": 64, "head": "trained"}


@pytest.mark.parametrize("head", ["relu_mlp", "tied_mlp"])
@pytest.mark.parametrize("hidden_bias", [False, True])
def test_a_model_has_the_hidden_bias_that_it_was_saved_with(head: str, hidden_bias: bool) -> None:
    saved = check_settings(Path("."), settings(head=head, hidden_bias=hidden_bias), "lexical_sae")
    assert saved.model.of(MLPSettings).hidden_bias == hidden_bias
