"""Lexical-SAE: text classifiers and entity taggers whose every prediction is, exactly, a short sum of named words."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from splade.inference import explain_model, predict_model
    from splade.models.lexical_sae import LexicalSAE
    from splade.tagging import explain_tags, tag_model

__all__ = ["LexicalSAE", "__version__", "explain_model", "explain_tags", "predict_model", "tag_model"]


def __getattr__(name: str) -> object:
    """The main names, loaded when first used: importing torch takes seconds that `--help` should not."""
    if name == "LexicalSAE":
        from splade.models.lexical_sae import LexicalSAE

        return LexicalSAE
    if name in ("explain_model", "predict_model"):
        from splade import inference

        return getattr(inference, name)
    if name in ("explain_tags", "tag_model"):
        from splade import tagging

        return getattr(tagging, name)
    raise AttributeError(f"module 'splade' has no attribute '{name}'")
