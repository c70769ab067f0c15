"""Taking over a saved model whose files were edited on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from splade.models.dense import DenseClassifier
from splade.models.folder import (
    FILES,
    HASH,
    READ_BY_LIBRARIES,
    SETTINGS,
    SURGERY,
    WEIGHTS,
    check_model_folder,
    read_settings,
    settings_hash,
)
from splade.models.lexical_sae import LexicalSAE
from splade.models.record import FORMAT
from splade.models.saving import build_model, write_settings


@torch.no_grad()
def rehash_model(folder: Path) -> list[str]:
    """Take a model's files as they are for whole, after an edit made on purpose; the names of those that differ.

    The model must load and read a text; a folder whose files make no model is refused, and stays as it is.
    """
    check_model_folder(folder)
    settings = read_settings(folder)
    listed = settings.get(FILES)
    before: dict[str, str] = listed if isinstance(listed, dict) else {}
    edited = settings.get(HASH) != settings_hash(settings)
    kind: type[Any] = DenseClassifier if settings.get("kind") == DenseClassifier.kind else LexicalSAE
    model = build_model(kind, folder, settings | {"format": FORMAT}).eval()
    ids = torch.tensor([[model.backbone.vocab_size - 1, 0]])
    mask = torch.ones_like(ids)
    model.classify(model(ids, mask), mask)
    names = [name for name in {*READ_BY_LIBRARIES, WEIGHTS, SURGERY} if (folder / name).is_file()]
    after = write_settings(folder, settings | {"format": FORMAT}, names)[FILES]
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    return sorted(changed | ({SETTINGS} if edited else set()))
