"""How much each loss beside the cross-entropy weighs."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from splade.config.numbers import NonNegative
from splade.config.variants import SETTINGS


@dataclass(config=SETTINGS, frozen=True)
class LossWeights:
    """Weights of the losses beside the cross-entropy; 0 switches one off. A loss counts if the recipe has it."""

    completeness: NonNegative = 1.0
    """The circuit alone must predict as the whole does."""
    separation: NonNegative = 1.0
    """Circuits of different classes must differ."""
    sparsity: NonNegative = 0.3
    """Few tokens may be active."""
    sharpness: NonNegative = 0.3
    """Attributions concentrate on few tokens."""
    frequency: NonNegative = 0.1
    """Tokens that hardly ever fire are helped back."""
    guide: NonNegative = 1.0
    """A dense head learns beside the sparse one, which is drawn to its predictions; it is no part of the model."""
    anchor: NonNegative = 0.02
    """Words keep meaning themselves, in the way ``training.anchor`` says."""
    deletion: NonNegative = 4.0
    """A word's share of the sum is what deleting it from the text does."""
