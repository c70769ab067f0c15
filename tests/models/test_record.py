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
def test_a_model_from_before_there_was_a_choice_has_its_hidden_bias(head: str) -> None:
    earlier, later = (
        check_settings(Path("."), settings(head=head, **given), "lexical_sae") for given in ({}, {"hidden_bias": False})
    )
    assert earlier.model.of(MLPSettings).hidden_bias and not later.model.of(MLPSettings).hidden_bias
