"""The subject of an explainer: any model that classifies texts, and all that explainers may ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Encoding
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from splade.attribution.span_aggregation import words_of_positions
from splade.attribution.word_text import WordText
from splade.data.batching import longest_first
from splade.models.lexical_sae import POSITIONS_AT_A_TIME
from splade.models.protocol import Model
from splade.models.state import CircuitState

TOGETHER = 64
"""Texts tokenised at a time in order to know their lengths; what a tokenizer says of a long one takes megabytes."""


@dataclass(frozen=True)
class ReadBatch:
    """Some texts as a model reads them."""

    rows: list[int]
    """(B,) which of the texts these are."""
    texts: list[WordText]
    """(B,)."""
    input_ids: Tensor
    """(B, L)."""
    attention_mask: Tensor
    """(B, L)."""
    words: Tensor
    """(B, L) the word that each position is a piece of, −1 for none."""

    def sum_words(self, scores: Tensor) -> list[Tensor]:
        """Scores of positions (B, L) added up to scores of words, (W,) a text."""
        most = max(len(text) for text in self.texts)
        index = torch.where(self.words < 0, most, self.words)  # what belongs to no word is the last column
        sums = scores.new_zeros(len(scores), most + 1).scatter_add(1, index, scores)
        return [sums[n, : len(text)].detach().cpu() for n, text in enumerate(self.texts)]


class Subject:
    """A model that classifies, ours or another; counts the texts that its backbone reads.

    Texts go through in the order of their length, so that little of a batch is padding, and each but once: of equal
    texts among many, which explainers by perturbation ask for, one is read.
    """

    def __init__(
        self, model: Model, tokenizer: PreTrainedTokenizerFast, max_length: int, batch_size: int = 64, name: str = ""
    ):
        self.model, self.tokenizer, self.max_length, self.batch_size = model, tokenizer, max_length, batch_size
        self.name = name
        self.passes = 0
        """Texts that the backbone has read, forward or backward: a gradient is two."""

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.no_grad()
    def logits(self, texts: Sequence[str]) -> Tensor:
        """(N, C) of any texts, on the processor."""
        unique = list(dict.fromkeys(texts))
        place = {text: row for row, text in enumerate(unique)}
        out = torch.zeros(len(unique), len(self.model.labels))
        for batch in self.read([WordText(text, ()) for text in unique]):
            out[batch.rows] = self.classify(batch.input_ids, batch.attention_mask).logits.float().cpu()
        return out[[place[text] for text in texts]]

    def read(self, texts: Sequence[WordText], batch_size: int | None = None) -> Iterator[ReadBatch]:
        """Texts in batches of similar length, longest first; `batch_size`: another than the subject's own."""
        if not texts:
            return
        lengths = [
            len(encoding)
            for start in range(0, len(texts), TOGETHER)
            for encoding in self._encodings(texts[start : start + TOGETHER])
        ]
        for rows in longest_first(lengths, batch_size or self.batch_size, POSITIONS_AT_A_TIME):
            chosen, longest = [texts[row] for row in rows], max(lengths[row] for row in rows)
            ids = torch.full((len(rows), longest), self.tokenizer.pad_token_id or 0)
            mask, words = torch.zeros_like(ids), torch.full_like(ids, -1)
            for n, (text, encoding) in enumerate(zip(chosen, self._encodings(chosen), strict=True)):
                ids[n, : len(encoding)] = torch.tensor(encoding.ids)
                mask[n, : len(encoding)] = 1
                if text.spans:
                    of_position = words_of_positions(encoding.offsets, list(text.spans))
                    words[n, : len(encoding)] = torch.tensor(of_position)
            yield ReadBatch(rows.tolist(), chosen, *(t.to(self.device) for t in (ids, mask, words)))

    def _encodings(self, texts: Sequence[WordText]) -> Sequence[Encoding]:
        """Ids and characters of the pieces of some texts."""
        found = self.tokenizer([text.text for text in texts], truncation=True, max_length=self.max_length)
        return found.encodings or []

    def classify(self, input_ids: Tensor, attention_mask: Tensor):  # type: ignore[no-untyped-def]
        """The model's decision on a batch (B, L): something with `logits`, of our own model a `CircuitState`."""
        self.passes += len(input_ids)
        return self.model.classify(self.model(input_ids, attention_mask), attention_mask)

    def state(self, batch: ReadBatch) -> CircuitState:
        """The decision of a model that decides by words."""
        state: CircuitState = self.classify(batch.input_ids, batch.attention_mask)
        return state

    def embeddings(self, input_ids: Tensor) -> Tensor:
        """(B, L, d) the word embeddings that the first layer takes in."""
        return self.model.backbone.input_embeddings()(input_ids).detach()

    def logits_of_embeddings(self, embeddings: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, C) with other word embeddings (B, L, d) in the place of those of the ids; differentiable in them."""

        def replace(module: torch.nn.Module, args: object, output: Tensor) -> Tensor:
            return embeddings.to(output.dtype)

        handle = self.model.backbone.input_embeddings().register_forward_hook(replace)
        try:
            logits: Tensor = self.classify(input_ids, attention_mask).logits
        finally:
            handle.remove()
        if (
            logits.requires_grad and embeddings.requires_grad
        ):  # whoever asks for a gradient reads the texts backward too
            self.passes += len(input_ids)
        return logits

    @torch.no_grad()
    def attention(self, batch: ReadBatch) -> Tensor:
        """(B, heads, L, L) of the last layer: how much each position (the third) looks at each other (the last)."""
        self.passes += len(batch.input_ids)
        return self.model.backbone.last_attention(batch.input_ids, batch.attention_mask)
