"""Explainers behind one registry: ours, its rivals, and what knows nothing."""

from splade.explainers.activations import Activations
from splade.explainers.chance import Empty, Random
from splade.explainers.content_words import ContentWords
from splade.explainers.dla import DLA
from splade.explainers.explainer import EXPLAINERS, Explainer, ExplainerParts, WordScores
from splade.explainers.subject import Subject
from splade.explainers.tfidf import TfIdf
from splade.explainers.word_text import WordText

__all__ = [
    "DLA",
    "EXPLAINERS",
    "Activations",
    "ContentWords",
    "Empty",
    "Explainer",
    "ExplainerParts",
    "Random",
    "Subject",
    "TfIdf",
    "WordScores",
    "WordText",
]
