"""The backbone that a training starts from."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from splade.models.backbone import Backbone
from splade.models.folder import is_model_folder
from splade.models.lexical_sae import LexicalSAE
from splade.models.saving import load_model


def load_backbone(name: str, *, revision: str | None = None) -> tuple[Backbone, PreTrainedTokenizerFast]:
    """A pretrained backbone (`Backbone.from_name`); or that of a saved Lexical-SAE, if `name` is the folder of one.

    A saved model's backbone goes on learning from there, for the same task or the other, with the scores over the
    vocabulary that it has learned.
    """
    folder = Path(name).expanduser()
    if not is_model_folder(folder):
        return Backbone.from_name(name, revision=revision)
    model = load_model(LexicalSAE, folder, draw=True)
    backbone = model.backbone.requires_grad_(True)
    tokens = slice(backbone.vocab_size)  # what was learned of split words stays behind
    backbone.set_decoder_bias(model.encoder.bias[tokens])
    if model.config.train_decoder:
        backbone.set_decoder_weight(model.encoder.weight[tokens])
    return backbone.eval(), model.tokenizer
