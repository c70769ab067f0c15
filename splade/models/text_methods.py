"""What people ask a model, as methods: `predict`, `predict_proba`, `explain`, `tag`.

Texts are any collection of strings: a list, a tuple, a pandas Series (whose answers are a Series with its index), a
numpy array, a generator. The answers are those of `splade.inference` and `splade.tagging`. These are built on models,
so they are looked up by name when somebody asks: nothing here depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from torch import Tensor

from splade.models.encoder import SparseSequence
from splade.models.state import TagCircuitState

if TYPE_CHECKING:
    import numpy as np


class TextMethods:
    """Methods of a model that take texts."""

    def predict(self, texts: Iterable[Any], **options: Any) -> Any:
        """What the model says of each text: a `Prediction` with label and probabilities, of a tagger a `TaggedText`.

        `options`: `batch_size`, as in `splade.inference.predict`.
        """
        return _built_on_models("splade.inference").predict(self, texts, **options)

    def predict_proba(self, texts: Iterable[str], **options: Any) -> np.ndarray:
        """(N, C) a classifier's probabilities of all labels, in the order of `labels`."""
        return _built_on_models("splade.inference").predict_proba(self, texts, **options)

    def explain(self, texts: Iterable[Any], target: str | None = None, **options: Any) -> Any:
        """Why: the predicted label's logit, or that of `target`, as an exact sum of words; an `Explanation` of each
        text, of a tagger an `ExplainedText`.

        `options`: as in `splade.inference.explain`.
        """
        return _built_on_models("splade.inference").explain(self, texts, target, **options)

    @overload
    def tag(self, texts: SparseSequence, words: Tensor | None = None) -> TagCircuitState: ...

    @overload
    def tag(self, texts: Iterable[Any], words: None = None, **options: Any) -> Any: ...

    def tag(self, texts: Any, words: Tensor | None = None, **options: Any) -> Any:
        """A tagger's entities in each text, a string or a list of words: a `TaggedText`.

        Of what the model encoded, a `SparseSequence`, the decision on every word instead; see `tag_words`.
        """
        if isinstance(texts, SparseSequence):
            return self.tag_words(texts, words)
        return _built_on_models("splade.tagging").tag_batch(self, texts, **options)

    def tag_words(self, sequence: SparseSequence, words: Tensor | None = None) -> TagCircuitState:
        """The decision on every word; the model's own."""
        raise NotImplementedError


def _built_on_models(module: str) -> Any:
    """A module that is above this one in the order of imports."""
    return import_module(module)
