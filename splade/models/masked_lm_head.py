"""The head of a masked language model: taken off before its last product, found missing, and replaced where it is."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from splade.errors import BackboneError
from splade.models.roles import Role


class Transform(nn.Linear):
    """What stands in for the head that a checkpoint lacks: new, where the rest of a backbone is pretrained."""

    parameter_role: Role = "head"


class _WithoutProduct(nn.Module):
    """DeBERTa's newer head, which multiplies by the word embeddings itself, up to but without that product."""

    def __init__(self, head: Any) -> None:  # DebertaV2LMPredictionHead, or DeBERTa's first version of it
        super().__init__()
        self.dense, self.activation, self.norm = head.dense, head.transform_act_fn, head.LayerNorm

    def forward(self, hidden: Tensor, word_embeddings: nn.Embedding) -> Tensor:  # the second is the caller's habit
        return self.norm(self.activation(self.dense(hidden)))


def detach_decoder(model: PreTrainedModel) -> tuple[Tensor, Tensor]:
    """Make ``model`` return ``h`` where it returned ``h·Eᵀ + b``; give back E (V, d) and b (V,)."""
    embeddings = cast(nn.Embedding, model.get_input_embeddings()).weight
    decoder = model.get_output_embeddings()
    weight: Tensor
    bias: Tensor | None
    if isinstance(decoder, nn.Linear) and decoder.out_features == embeddings.shape[0]:
        bias = decoder.bias
        _replace(model, decoder, nn.Identity())
        for module in model.modules():  # several heads keep a second name for the bias, which is now of no use
            for name, parameter in list(module.named_parameters(recurse=False)):
                if parameter is bias:
                    setattr(module, name, None)
        weight = decoder.weight
    elif hasattr(model, "lm_predictions"):
        head: Any = cast(nn.Module, model.lm_predictions).lm_head
        weight, bias = embeddings, head.bias
        model.lm_predictions = _WithoutProduct(head)
    else:
        raise BackboneError(
            f"The model type '{model.config.model_type}' has no output embedding over its vocabulary, which "
            "Lexical-SAE needs; choose another masked language model."
        )
    return weight, torch.zeros(weight.shape[0]) if bias is None else bias.detach().clone()


def _replace(root: nn.Module, old: nn.Module, new: nn.Module) -> None:
    for module in list(root.modules()):
        for name, child in list(module.named_children()):
            if child is old:
                setattr(module, name, new)


def head_is_missing(model: PreTrainedModel, missing: set[str]) -> bool:
    """Whether weights of the head were left at random; a bias of the decoder alone starts at zero and does no harm."""
    decoder = model.get_output_embeddings()
    bias = getattr(decoder, "bias", None)
    inside = model.base_model_prefix + "."
    parameters = dict(model.named_parameters(remove_duplicate=False))
    return any(not key.startswith(inside) and parameters.get(key) is not bias for key in missing)


def identity_transform(base: PreTrainedModel) -> Transform:
    """A linear map from the last hidden state to the word embeddings' space, started at the identity.

    Where embeddings are smaller than hidden states (ELECTRA), the model widens them by a projection P; the map starts
    at its transpose, because ``h·(E·Pᵀ)ᵀ = (h·P)·Eᵀ``.
    """
    narrow, wide = cast(nn.Embedding, base.get_input_embeddings()).embedding_dim, base.config.hidden_size
    transform = Transform(wide, narrow)
    with torch.no_grad():
        transform.bias.zero_()
        if narrow == wide:
            nn.init.eye_(transform.weight)
            return transform
        for module in base.modules():
            if isinstance(module, nn.Linear) and (module.in_features, module.out_features) == (narrow, wide):
                transform.weight.copy_(module.weight.T)  # (d_emb, d)
                return transform
    raise BackboneError(
        f"The word embeddings have {narrow} dimensions and the hidden states {wide}, with no projection between them "
        "to start a head from; choose a checkpoint with a trained masked-LM head."
    )
