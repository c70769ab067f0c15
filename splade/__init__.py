"""Lexical-SAE: text classifiers and entity taggers whose every prediction is, exactly, a short sum of named words."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from splade.evaluation.benchmark import Benchmark
    from splade.inference import (
        explain,
        explain_batch,
        explain_model,
        predict,
        predict_batch,
        predict_model,
        predict_proba,
    )
    from splade.models.lexical_sae import LexicalSAE
    from splade.reporting.notebook import explanation_html, tagged_html
    from splade.surgery.suppress import restore_words, silence_words, suppress_token_globally, suppress_words
    from splade.surgery.suppressed_model import SuppressedModel
    from splade.tagging import explain_tags, explain_tags_batch, tag_batch, tag_model

__all__ = [
    "Benchmark",
    "LexicalSAE",
    "SuppressedModel",
    "__version__",
    "explain",
    "explain_batch",
    "explain_model",
    "explain_tags",
    "explain_tags_batch",
    "explanation_html",
    "predict",
    "predict_batch",
    "predict_model",
    "predict_proba",
    "restore_words",
    "silence_words",
    "suppress_token_globally",
    "suppress_words",
    "tag_batch",
    "tag_model",
    "tagged_html",
]

_HOMES = {
    "splade.evaluation.benchmark": ("Benchmark",),
    "splade.inference": (
        "explain",
        "explain_batch",
        "explain_model",
        "predict",
        "predict_batch",
        "predict_model",
        "predict_proba",
    ),
    "splade.models.lexical_sae": ("LexicalSAE",),
    "splade.reporting.notebook": ("explanation_html", "tagged_html"),
    "splade.surgery.suppress": ("restore_words", "silence_words", "suppress_token_globally", "suppress_words"),
    "splade.surgery.suppressed_model": ("SuppressedModel",),
    "splade.tagging": ("explain_tags", "explain_tags_batch", "tag_batch", "tag_model"),
}


def __getattr__(name: str) -> object:
    """The main names, loaded when first used: importing torch takes seconds that `--help` should not."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'splade' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
