"""What is measured of a tagger, under the names of the user's documents; a row is a word, its class the tag decoded."""

from __future__ import annotations

from splade.evaluation.measures import declared
from splade.evaluation.run import Evaluation
from splade.evaluation.run import evaluate as evaluate_tagging

__all__ = ["MEASURES_OF_TAGGERS", "Evaluation", "evaluate_tagging"]

MEASURES_OF_TAGGERS = tuple(declared("tagging"))
