"""A model with more and more of its parts randomised: what the sanity check of explanations compares a model with."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import nn

from splade.models.protocol import LexicalModel


@torch.no_grad()
def randomise(module: nn.Module, generator: torch.Generator) -> None:
    """Shuffle the entries of each parameter among themselves.

    What was learned is gone, while each weight keeps its mean, its spread and its outliers, so that the module still
    computes numbers of the size that the rest of a model expects.
    """
    for parameter in module.parameters():
        order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
        parameter.copy_(parameter.flatten()[order].view_as(parameter))


def randomised_models(model: LexicalModel, seed: int) -> Iterator[tuple[str, LexicalModel]]:
    """A copy of the model with its head randomised, then also its top layer, and so on down to the first, by the name
    of what was randomised last; each is the one before, changed. The model itself stays as it is.

    Word embeddings, thresholds and the way from hidden states to scores of words stay: they are the vocabulary in
    which explanations are told.
    """
    randomised: LexicalModel = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    randomise(randomised.head, generator)
    yield "head", randomised
    layers = list(enumerate(randomised.backbone.layer_stack, start=1))
    for number, layer in reversed(layers):
        randomise(layer, generator)
        yield f"layer {number}", randomised
