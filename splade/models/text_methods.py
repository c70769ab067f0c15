"""What people ask a model, as methods: `predict`, `predict_proba`, `explain`, `tag`.

Texts are any collection of strings: a list, a tuple, a pandas Series (whose answers are a Series with its index), a
numpy array, a generator. The answers are those of the functions of the same purpose that the package itself offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from torch import Tensor

import splade  # which loads its functions when they are first used: they are built on models
from splade.data.given import BATCH_SIZE
from splade.models.encoder import SparseSequence
from splade.models.state import TagCircuitState

if TYPE_CHECKING:
    import numpy as np


class TextMethods(ABC):
    """Methods of a model that take texts."""

    def predict(self, texts: Iterable[Any], batch_size: int = BATCH_SIZE) -> Any:
        """What the model says of each text: a `Prediction` with label and probabilities, of a tagger a `TaggedText`."""
        return splade.predict(self, texts, batch_size)  # type: ignore[arg-type]

    def predict_proba(self, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> np.ndarray:
        """(N, C) a classifier's probabilities of all labels, in the order of `labels`."""
        return splade.predict_proba(self, texts, batch_size)  # type: ignore[arg-type]

    def explain(
        self,
        texts: Iterable[Any],
        target: str | None = None,
        batch_size: int = BATCH_SIZE,
        *,
        word: int | None = None,
        context: bool = False,
        interactions: bool = False,
        spans: Iterable[Any] | None = None,
        all_words: bool = False,
    ) -> Any:
        """Why: the predicted label's logit, or that of `target`, as an exact sum of words; an `Explanation` of each
        text, of a tagger an `ExplainedText`.

        Of a classifier, with `interactions` also what deleting each word does and through which others; `spans` are
        deleted as one, and `all_words` asks for every word of long texts (`splade.inference.explain`). Of a tagger, the
        words of entities, or word number `word` of every text; with `context`, also what deleting each other word does.
        """
        return splade.explain(
            self,  # type: ignore[arg-type]
            texts,
            target,
            batch_size,
            word=word,
            context=context,
            interactions=interactions,
            spans=spans,
            all_words=all_words,
        )

    @overload
    def tag(self, texts: SparseSequence, words: Tensor | None = None) -> TagCircuitState: ...

    @overload
    def tag(self, texts: Iterable[Any], words: None = None, batch_size: int = BATCH_SIZE) -> Any: ...

    def tag(self, texts: Any, words: Tensor | None = None, batch_size: int = BATCH_SIZE) -> Any:
        """A tagger's entities in each text, a string or a list of words: a `TaggedText`.

        Of what the model encoded, a `SparseSequence`, the decision on every word instead; see `tag_words`.
        """
        if isinstance(texts, SparseSequence):
            return self.tag_words(texts, words)
        return splade.tag_batch(self, texts, batch_size)  # type: ignore[call-overload]

    @abstractmethod
    def tag_words(self, sequence: SparseSequence, words: Tensor | None = None) -> TagCircuitState:
        """The decision on every word; what a model with these methods must have."""
