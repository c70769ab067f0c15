"""What the study of surgery compares: conditions, and ways to choose the words that are removed."""

from splade.studies.conditions import balanced, blind, erasure, plain, suppression, word_choice
from splade.studies.conditions.base import CONDITIONS
from splade.studies.conditions.word_choice import WORD_CHOICES

__all__ = ["CONDITIONS", "WORD_CHOICES", "balanced", "blind", "erasure", "plain", "suppression", "word_choice"]
