"""What is measured of a tagger, under the names of the user's documents; a row is a word, its class the tag decoded."""

from __future__ import annotations

from splade.evaluation.run import Evaluation
from splade.evaluation.run import evaluate as evaluate_tagging

__all__ = ["Evaluation", "evaluate_tagging"]
