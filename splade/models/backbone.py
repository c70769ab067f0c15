"""A pretrained masked language model, read as one hidden state per position.

Every masked-LM ends in scores over the vocabulary, ``h·Eᵀ + b``. The backbone stops one step earlier and returns
``h``; ``E`` and ``b`` are handed over once, by :meth:`Backbone.decoder`, to whoever projects onto words. How model
families differ is known here, in `masked_lm_head` and in `layer_stack`, and nowhere else.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from splade.errors import BackboneError
from splade.models.building import ONE_AT_A_TIME, ShapesOnly
from splade.models.layer_stack import after_each_layer, bypassed, find_stack
from splade.models.masked_lm_head import detach_decoder, head_is_missing, identity_transform
from splade.models.pretrained import load_pretrained
from splade.models.roles import Role

Head = Literal["trained", "repaired"]

# Scores recomputed as h·Eᵀ + b differ from the model's own by float32 rounding only; a head of another form (a scale, a
# second bias) differs by far more than this.
LARGEST_ROUNDING = 1e-3


class Backbone(nn.Module):
    """Token ids to hidden states ``h`` of shape (B, L, d), such that vocabulary scores are ``h·Eᵀ + b``.

    ``head`` says where ``h`` comes from. ``trained``: the checkpoint's own masked-LM head, without its last product.
    ``repaired``: the checkpoint has no such head, so ``h = transform(last hidden state)`` with ``transform`` started
    at the identity and E the row-normalised input embeddings. On all-MiniLM-L6-v2 the first guess at an unmasked
    position is then its own token 78 % of the time, against 0 % with a head left at random.
    """

    parameter_role: Role = "backbone"

    def __init__(self, model: PreTrainedModel, head: Head, notice: str | None = None) -> None:
        """``model`` is a masked-LM in float32, and is taken apart. Use :meth:`from_name` or :meth:`from_config`."""
        super().__init__()
        if getattr(model.base_model, "pooler", None) is not None:
            setattr(model.base_model, "pooler", None)  # noqa: B010  # a sentence vector nobody reads would be a parameter without gradient
        self.config: PretrainedConfig = model.config
        self.head: Head = head
        #: What was found missing in the checkpoint and what was done about it, in one sentence; None if all is there.
        self.notice = notice
        self.tied = False
        self.transform: nn.Module = nn.Identity()
        # E and b are no parameters of the backbone: their owner is the encoder, which would save them a second time.
        self._decoder_weight: Tensor | None = None  # None: the input embeddings, as they are or row-normalised
        if head == "trained":
            self.model = model
            weight, self._decoder_bias = detach_decoder(model)  # (V, d), (V,)
            self.tied = weight is self.input_embeddings().weight
            if not self.tied:
                self._decoder_weight = weight.detach().clone()
            self.hidden_size = weight.shape[1]
        else:
            self.model = cast(PreTrainedModel, model.base_model)
            transform = identity_transform(self.model)
            self.transform = transform
            self.hidden_size = transform.out_features
            self._decoder_bias = torch.zeros(self.vocab_size)

    @classmethod
    def from_name(cls, name: str, *, revision: str | None = None) -> tuple[Backbone, PreTrainedTokenizerFast]:
        """Load an alias (``minilm``), a local folder or a Hub name, with its fast tokenizer, in evaluation mode."""
        with ONE_AT_A_TIME:
            model, tokenizer, missing = load_pretrained(name, revision)
        notice = None
        if head_is_missing(model, missing):
            notice = (
                f"The checkpoint '{name}' has no trained masked-LM head, so the head starts from the identity and "
                "row-normalised input embeddings instead of random weights."
            )
        probe = torch.arange(4)[None]  # (1, 4), any text will do
        mask = torch.ones_like(probe)
        with torch.no_grad():
            try:
                expected = model(input_ids=probe, attention_mask=mask)[0]  # (1, 4, V)
                backbone = cls(model, "repaired" if notice else "trained", notice).eval()
                weight, bias = backbone.decoder()
                scores = backbone(probe, mask) @ weight.T + bias  # (1, 4, V)
                usable = notice is not None or torch.allclose(scores, expected, LARGEST_ROUNDING, LARGEST_ROUNDING)
            except (AttributeError, RuntimeError, TypeError, ValueError):  # a part needs what was removed
                usable = False
        if not usable:
            raise BackboneError(
                f"The scores of '{name}' (model type '{model.config.model_type}') are not a product of hidden states "
                "and output embeddings, which Lexical-SAE needs; choose another masked language model."
            )
        return backbone, tokenizer

    @classmethod
    def from_config(cls, config: PretrainedConfig, head: Head, *, empty: bool = False) -> Backbone:
        """The same structure with random weights, to load a saved state dict into; `empty`: with their shapes only."""
        config = copy.deepcopy(config)  # building a model writes into it
        with ONE_AT_A_TIME:
            if not empty:
                return cls(AutoModelForMaskedLM.from_config(config, dtype=torch.float32), head).eval()
            with ShapesOnly():
                model = AutoModelForMaskedLM.from_config(config, dtype=torch.float32)
            with torch.device("meta"):
                return cls(model, head).eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Hidden states (B, L, d) of token ids (B, L); positions whose mask is 0 are padding."""
        return self.transform(self.model(input_ids=input_ids, attention_mask=attention_mask)[0])  # (B, L, d)

    def last_attention(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, heads, L, L) of the last layer, each position's (third) to all others (last), in float32; by the plain
        attention, since the fused one that models run with does not hand out its weights."""
        usual = self.config._attn_implementation
        self.model.set_attn_implementation("eager")
        try:
            found = self.model(input_ids=input_ids, attention_mask=attention_mask, output_attentions=True)
        finally:
            self.model.set_attn_implementation(usual)
        if not getattr(found, "attentions", None):
            name = self.config.model_type
            raise BackboneError(f"The model type '{name}' hands out no attention; leave the explainer 'attention' out.")
        return found.attentions[-1].float()

    def input_embeddings(self) -> nn.Embedding:
        """The word embeddings that turn token ids into the first layer's input."""
        return cast(nn.Embedding, self.model.get_input_embeddings())

    def freeze_embeddings(self) -> None:
        """Training leaves the word embeddings as they are."""
        self.input_embeddings().weight.requires_grad_(False)

    def frozen_embeddings(self) -> Tensor:
        """A detached copy of the word embeddings, (V, d_emb)."""
        return self.input_embeddings().weight.detach().clone()

    def decoder(self) -> tuple[Tensor, Tensor]:
        """Copies of the output embedding E (V, d) and its bias b (V,) to start from.

        Of a backbone made by :meth:`from_config` only their shapes are right: the values are random, or there are none.
        """
        weight = self.decoder_rows(slice(None))
        return weight, self._decoder_bias.to(weight, copy=True)

    def set_decoder_bias(self, bias: Tensor) -> None:
        """Replace b (V,), where training has learned a better one."""
        self._decoder_bias = bias.detach().cpu().clone()

    def set_decoder_weight(self, weight: Tensor) -> None:
        """Replace E (V, d), where training has learned a better one; it no longer follows from the embeddings."""
        self._decoder_weight = weight.detach().cpu().clone()

    def decoder_rows(self, tokens: Tensor | slice) -> Tensor:
        """Copies of the rows of E that belong to some tokens."""
        embeddings = self.input_embeddings().weight.detach()
        if self._decoder_weight is not None:
            return self._decoder_weight[tokens].to(embeddings, copy=True)
        rows = embeddings[tokens]
        return F.normalize(rows, dim=-1) if self.head == "repaired" else rows.clone()

    @property
    def decoder_is_embeddings(self) -> bool:
        """Whether E follows from the input embeddings alone, as they are or row-normalised."""
        return self._decoder_weight is None

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding matrix; may exceed the tokenizer's length where a checkpoint pads it."""
        return self.input_embeddings().num_embeddings

    @property
    def layers(self) -> int:
        """Number of transformer layers."""
        return self.config.num_hidden_layers

    @property
    def max_length(self) -> int:
        """The most tokens a text may have, special tokens included."""
        for name, module in self.model.named_modules():
            # RoBERTa and its kin number positions from padding_idx + 1, so that many rows are never used.
            positions = isinstance(module, nn.Embedding) and name.endswith("position_embeddings")
            if positions and module.padding_idx is not None:
                return module.num_embeddings - module.padding_idx - 1
        return self.config.max_position_embeddings

    @contextmanager
    def bypass_layer(self, index: int) -> Iterator[None]:
        """Within the context, layer ``index`` hands its input on unchanged."""
        stack = self.layer_stack
        if not 0 <= index < self.layers:
            raise BackboneError(f"There is no layer {index} to bypass; choose one from 0 to {self.layers - 1}.")
        with bypassed(stack[index]):
            yield

    def after_each_layer(self, input_ids: Tensor, attention_mask: Tensor) -> list[Tensor]:
        """``forward`` as it would be with the first 0, 1, … of the layers alone: (B, L, d) each, the last is its own.

        The head, or the transform in its place, reads all of them, so that scores of words follow from each (the logit
        lens; nostalgebraist 2020).
        """
        return after_each_layer(list(self.layer_stack), lambda: self(input_ids, attention_mask))

    @property
    def has_separate_layers(self) -> bool:
        """Whether there is a list of layers; some families use one layer several times."""
        return find_stack(self.model, self.layers) is not None

    @property
    def layer_stack(self) -> nn.ModuleList:
        """The layers one by one, the first that reads the embeddings first."""
        stack = find_stack(self.model, self.layers)
        if stack is None:
            raise BackboneError(
                f"The model type '{self.config.model_type}' has no list of separate layers, so none can be looked at "
                "alone; leave the layer-wise analysis and the sanity check out."
            )
        return stack


def frozen_copy(backbone: Backbone) -> Backbone:
    """A copy that never learns, in evaluation mode; word embeddings that do not learn either are shared with it."""
    embeddings = backbone.input_embeddings().weight
    shared = {} if embeddings.requires_grad else {id(embeddings): embeddings}
    return copy.deepcopy(backbone, shared).requires_grad_(False).eval()
