"""The dense baseline, by the name that the documents have: `splade.models.dense`."""

from __future__ import annotations

from splade.models.dense import DenseClassifier, DenseHead, DenseState

__all__ = ["DenseClassifier", "DenseHead", "DenseState"]
