"""What a support is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from splade.data.batching import EncodedTexts
from splade.models.backbone import Backbone
from splade.models.context import Views
from splade.models.open_words import OpenWords
from splade.models.projection import scan_columns
from splade.models.vocabulary import Vocabulary
from splade.registry import Registry

SUPPORTS: Registry[type[Support]] = Registry("support")


@dataclass(frozen=True)
class SupportParts:
    """What a model has at hand when its supports are made."""

    vocabulary: Vocabulary
    """The tokens and the words that the tokenizer splits, without further senses."""
    exclude_stop_words: bool
    backbone: Backbone
    """Untrained."""
    texts: EncodedTexts | None = None
    """The training texts, of a model that is yet to be trained."""
    blank: bool = False
    """Leave out what a saved state dict will fill in."""
    open_words: OpenWords | None = None
    """Columns of the words that the tokenizer splits, where a support lets those speak."""
    readings: Tensor | None = None
    """(W, d) what the untrained backbone reads in each content word (`Vocabulary.content`), where that is known."""


@dataclass(frozen=True)
class Scene:
    """What a support may look at: one batch and the decoder it is scored with."""

    hidden: Tensor
    """(B, L, d) in the scan's precision."""
    input_ids: Tensor
    """(B, L)."""
    attended: Tensor
    """(B, L) bool: positions that are not padding."""
    decoder: Tensor
    """(V, d) in the scan's precision."""
    floor: Tensor
    """(V,) the dot product h·E[v] a pair must exceed to matter."""
    everywhere: bool = False
    """Whether all positions of a token are wanted, not just its best in each text."""
    asked: Tensor | None = None
    """(B, L) bool: the only positions that may speak; None: all."""
    words: Tensor | None = None
    """(B, L) a number a word, −1 for none, where the words are given; None: the tokenizer's."""
    views: Views | None = None
    """The positions as rows hear them, where that is not as they are."""


class Support(nn.Module, ABC):
    """Base of all supports."""

    lets_split_words_speak: ClassVar[bool] = False
    """Whether a word that the tokenizer splits speaks by a column of its own."""

    speaks_for_others: ClassVar[bool] = False
    """Whether it says what a word may say for the words around it (`Context`); else for itself alone."""

    excluded: Tensor

    def __init__(self, parts: SupportParts):
        super().__init__()
        self.vocabulary = vocabulary = parts.vocabulary
        never = vocabulary.stop | vocabulary.special if parts.exclude_stop_words else torch.zeros_like(vocabulary.stop)
        self.register_buffer("excluded", never, persistent=False)  # (V,): never fired; read only where asked

    @abstractmethod
    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs (position (N,) flat index b·L + l, token (N,)) that may pass the gate, and their h·E (N,); where the
        scene has views, a view's number instead of a position."""

    @abstractmethod
    def allows(
        self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None, words: Tensor | None = None
    ) -> Tensor:
        """(B, L, V) bool, the definition that `propose` must agree with; for tests and `to_dense()`."""

    def live(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        """(B, L) positions that may speak: those `asked`, else all without an excluded token.

        Asked for by name, a stop word may say what it is ("of" in "Bank of England" is part of an entity): by other
        words, since its own token never fires, where a support lets it speak through others.
        """
        return attended & (~self.excluded[input_ids] if asked is None else asked)


class FixedColumns(Support):
    """Base of supports whose `tokens` are the same at every live position."""

    tokens: Tensor  # (U,)

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        live = self.live(scene.input_ids, scene.attended, scene.asked)
        whole = len(self.tokens) == len(scene.decoder)
        table = scene.decoder if whole else scene.decoder.index_select(0, self.tokens)
        floor = scene.floor if whole else scene.floor.index_select(0, self.tokens)
        position, column, score = scan_columns(scene.hidden, live, table, floor, scene.everywhere)
        return position, self.tokens[column], score

    def allows(
        self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None, words: Tensor | None = None
    ) -> Tensor:
        columns = torch.zeros_like(self.excluded).index_fill_(0, self.tokens, True)
        return self.live(input_ids, attended, asked)[..., None] & columns
