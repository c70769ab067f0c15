"""Codes after a removal are those of a model without what is removed, whether hidden states were kept or read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from splade.evaluation import removal_codes
from splade.evaluation.removal_codes import RemovalCodes
from splade.models.removal import Removal
from splade.surgery.suppressed_model import SuppressedModel
from splade.surgery.targets import find_targets
from splade.tasks import TASKS
from tests.builders import toy_reviews
from tests.surgery.models import VARIANTS, state_of, variant


@pytest.mark.parametrize("kept", [0, 1 << 30])
@pytest.mark.parametrize("name", ["neighbourhood", "attention", "byte-level", "senses"])
def test_codes_are_those_of_the_model_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kept: int
) -> None:
    assert name in VARIANTS
    monkeypatch.setattr(removal_codes, "MOST_KEPT", kept)
    model, texts = variant(tmp_path, name), [*toy_reviews(9)[0], "film"]
    read = []
    codes = RemovalCodes(model, TASKS.get(model.task).from_texts(texts, model), 4, read.append)
    assert sum(read) == len(texts) and codes.hidden.shape == (len(texts), model.backbone.hidden_size)
    removal = find_targets(model, ["film"], ["plot", "unwatchable"]).removal
    for removed in (Removal(), removal):
        found = codes.without(removed)
        expected = state_of(SuppressedModel(model, removal=removed), texts)
        assert torch.allclose(torch.from_numpy(found.logits), expected.logits, atol=1e-4)
        assert np.allclose(found.code.toarray(), expected.sparse_vector.numpy(), atol=1e-4)
