"""Explainers behind one registry: ours, its rivals, and what knows nothing."""

from splade.attribution.word_text import WordText
from splade.explainers.activations import Activations
from splade.explainers.attention import Attention
from splade.explainers.chance import CHANCE_DRAWS, Empty, Random
from splade.explainers.content_words import ContentWords
from splade.explainers.dla import DLA
from splade.explainers.explainer import EXPLAINERS, Explainer, ExplainerParts, WordScores
from splade.explainers.gradient import Gradient, GradientTimesInput
from splade.explainers.gradient_shap import GradientShap
from splade.explainers.integrated_gradients import IntegratedGradients, IntegratedGradientsL2
from splade.explainers.lime import Lime
from splade.explainers.occlusion import Occlusion
from splade.explainers.subject import Subject
from splade.explainers.tfidf import TfIdf

__all__ = [
    "CHANCE_DRAWS",
    "DLA",
    "EXPLAINERS",
    "Activations",
    "Attention",
    "ContentWords",
    "Empty",
    "Explainer",
    "ExplainerParts",
    "Gradient",
    "GradientShap",
    "GradientTimesInput",
    "IntegratedGradients",
    "IntegratedGradientsL2",
    "Lime",
    "Occlusion",
    "Random",
    "Subject",
    "TfIdf",
    "WordScores",
    "WordText",
]
