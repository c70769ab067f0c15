"""What a model must offer to be trained, evaluated and explained; whoever uses a model asks for this and no class.

Any `nn.Module` will do, also one with a `LexicalSAE` inside that answers for it: by properties, or by a `__getattr__`
that hands on what it does not know itself. `LexicalModel` is the whole of it. `Model` is the part that a model without
words has, such as the dense baseline: it says so by `has_sparse_rows`, and is trained without the losses that look at
words. Which parameters are thresholds, pretrained or new, the modules themselves say (`splade.models.roles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeGuard

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig, Task
from splade.models.backbone import Backbone
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.open_words import OpenWords
from splade.models.removal import Removal
from splade.models.roles import Module
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState, TagCircuitState
from splade.models.vocabulary import Vocabulary


class Decided(Protocol):
    """A prediction, a row a text or a word."""

    @property
    def logits(self) -> Tensor:
        """(R, C)."""


class Model(Module, Protocol):
    """Anything that decides on texts and words by a backbone."""

    @property
    def has_sparse_rows(self) -> bool:
        """Whether it is a `LexicalModel`: what it decides is a `CircuitState`, with the words it decided by."""

    @property
    def labels(self) -> Sequence[str]:
        """Names of the classes, in the order of the logits."""

    @property
    def backbone(self) -> Backbone: ...

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, /) -> Any:
        """Encode a batch (B, L); what comes back goes into `classify` or `tag`."""

    def classify(self, encoded: Any, attention_mask: Tensor, /) -> Decided:
        """Decide, a row a text."""

    def tag(self, encoded: Any, words: Tensor, /) -> Decided:
        """Decide, a row a word; `words` (B, L): the word of each position, −1 for none (`LexicalSAE.tag`)."""


class LexicalModel(Model, Protocol):
    """A model whose decisions are sums of named words; a `LexicalSAE` is one, and says there what each member does."""

    @property
    def config(self) -> ModelConfig: ...
    @property
    def task(self) -> Task: ...
    @property
    def tokenizer(self) -> PreTrainedTokenizerFast: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def encoder(self) -> LexicalEncoder:
        """Scores, supports and pooling; its `gate` has the thresholds."""

    @property
    def head(self) -> nn.Module:
        """From sparse rows to logits; `decide` runs it."""

    @property
    def vocab_size(self) -> int:
        """Columns of a sparse row, V."""

    @property
    def max_length(self) -> int: ...
    @property
    def topk_per_position(self) -> int: ...
    @property
    def suppressed_words(self) -> list[str]: ...
    @property
    def silenced_words(self) -> list[str]: ...
    @property
    def removal(self) -> Removal:
        """Tokens that are shut and words that are silenced."""

    @property
    def open_words(self) -> OpenWords | None:
        """Columns of words that the tokenizer splits."""

    @property
    def surgery(self) -> tuple[str, ...]:
        """The records of its removals, a line each."""

    @property
    def record(self) -> dict[str, Any]: ...
    @property
    def device(self) -> torch.device: ...

    def autocast(self) -> AbstractContextManager[Any]: ...
    def __call__(self, input_ids: Tensor, attention_mask: Tensor, /) -> SparseSequence: ...
    def classify(self, sequence: SparseSequence, attention_mask: Tensor | None = None, /) -> CircuitState: ...
    def tag(self, sequence: SparseSequence, words: Tensor | None = None, /) -> TagCircuitState: ...
    def by_word(self, sequence: SparseSequence, words: Tensor | None = None, /) -> SparseSequence: ...

    def decide(self, rows: SparseRows, scores: Tensor | None = None, /) -> CircuitState:
        """The head on any sparse rows, such as a circuit's alone."""


def is_lexical(model: Model) -> TypeGuard[LexicalModel]:
    """Whether a model decides by words; where it does not, what looks at words has nothing to look at."""
    return model.has_sparse_rows
