"""A support without a model around it, for tests of supports, encoders and senses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.config.schema import ModelConfig
from splade.config.variants import make
from splade.models.supports import SUPPORTS, DictionarySupport, Support, SupportParts
from splade.models.vocabulary import Vocabulary


class TableReader(nn.Module):
    """A stand-in for a backbone that reads each token as its own unit embedding, whatever stands around it."""

    max_length = 64

    def __init__(self, embeddings: Tensor) -> None:
        super().__init__()
        self.embeddings = nn.Embedding.from_pretrained(embeddings, freeze=False)

    def input_embeddings(self) -> nn.Embedding:
        return self.embeddings

    def frozen_embeddings(self) -> Tensor:
        return self.embeddings.weight.detach().clone()

    decoder_is_embeddings = True

    @property
    def hidden_size(self) -> int:
        return self.embeddings.embedding_dim

    def decoder_rows(self, tokens: Tensor | slice) -> Tensor:
        return F.normalize(self.frozen_embeddings()[tokens], dim=1)

    def decoder(self) -> tuple[Tensor, Tensor]:
        return self.decoder_rows(slice(None)), torch.zeros(self.embeddings.num_embeddings)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return F.normalize(self.embeddings(input_ids), dim=-1)


class FewColumns:
    """A stand-in for `OpenWords`: every split word has one of the columns after the tokens, ever the same."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.first, self.count = vocabulary.tokens, len(vocabulary) - vocabulary.tokens

    def columns_of(self, words: Sequence[tuple[int, ...]]) -> list[int]:
        return [self.first + sum(word) % self.count for word in words]


def build_support(
    name: str,
    vocabulary: Vocabulary,
    embeddings: Tensor,
    *,
    exclude_stop_words: bool = True,
    neighbours: int = 5,
    similarity: float = -1.0,
    dictionary: Sequence[int] = (),
    blank: bool = False,
) -> Support:
    """A support over a `TableReader`, without a model around it.

    A vocabulary `with_words` has columns for split words, which `FewColumns` hands out; without them they are silent.
    """
    reader: Any = TableReader(embeddings)
    open_words: Any = FewColumns(vocabulary) if len(vocabulary) > vocabulary.tokens else None
    config = ModelConfig(neighbours=neighbours, neighbour_similarity=similarity)  # type: ignore[call-arg]
    parts = SupportParts(vocabulary, exclude_stop_words, reader, blank=blank, open_words=open_words)
    made = make(SUPPORTS, name, config, parts)
    if isinstance(made, DictionarySupport):
        made.tokens = torch.tensor(sorted(set(dictionary)))
    return made
