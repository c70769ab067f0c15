"""What the tests of models share."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model


@pytest.fixture
def saved(tmp_path: Path) -> tuple[LexicalSAE, Path]:
    model = build_model(tmp_path, "neighbourhood+dictionary")
    model.save_pretrained(tmp_path / "model", dataset="toys", seed=5)
    return model, tmp_path / "model"
