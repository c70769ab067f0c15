"""Explainers behind one registry: ours, its rivals, and what knows nothing."""

from splade.explainers.chance import Empty, Random
from splade.explainers.dla import DLA
from splade.explainers.explainer import EXPLAINERS, Explainer, ExplainerParts, WordScores
from splade.explainers.subject import Subject
from splade.explainers.word_text import WordText

__all__ = [
    "DLA",
    "EXPLAINERS",
    "Empty",
    "Explainer",
    "ExplainerParts",
    "Random",
    "Subject",
    "WordScores",
    "WordText",
]
