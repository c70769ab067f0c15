"""Logits as sums, by numbers alone: what is left of an explanation where two of them are subtracted."""

from __future__ import annotations

from dataclasses import dataclass

from splade.attribution.explanation import TokenScore


@dataclass(frozen=True)
class WordSum:
    """The logit of one class of a text as a sum over its words, by their numbers."""

    label: str
    """The label predicted, whichever the class."""
    logit: float
    bias: float
    shares: list[float]
    """(W + 1,) what arose at each word, and last what arose at none."""


@dataclass(frozen=True)
class TokenSum:
    """The logit of one class as a sum over vocabulary tokens."""

    logit: float
    bias: float
    tokens: list[TokenScore]
