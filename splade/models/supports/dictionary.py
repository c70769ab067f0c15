"""The support `dictionary`, and its words: the user's own list, or the training texts' most frequent whole words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from pydantic.dataclasses import dataclass

from splade.config.numbers import PositiveInt
from splade.config.texts import FilePath
from splade.config.variants import SETTINGS
from splade.errors import ConfigError
from splade.models.supports.base import SUPPORTS, FixedColumns, SupportParts
from splade.models.vocabulary import Vocabulary


@dataclass(config=SETTINGS, frozen=True)
class DictionarySettings:
    """Which words."""

    dictionary_size: PositiveInt = 4000
    """Number of frequent whole words in the ``dictionary`` support."""
    dictionary_file: FilePath | None = None
    """Own word list for ``dictionary``, one word a line."""


@SUPPORTS.register("dictionary")
class DictionarySupport(FixedColumns):
    """A fixed list of whole words at every position: words shared by all texts."""

    Settings = DictionarySettings

    def __init__(self, parts: SupportParts, settings: DictionarySettings):
        super().__init__(parts)
        self.register_buffer("tokens", torch.tensor(_words(parts, settings), dtype=torch.long))  # (U,), ascending

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:  # type: ignore[no-untyped-def]
        self.tokens = torch.empty_like(state_dict[prefix + "tokens"])  # as many words as the saved model has
        super()._load_from_state_dict(state_dict, prefix, *args)


def _words(parts: SupportParts, settings: DictionarySettings) -> list[int]:
    if parts.texts is None:  # a saved model's words are in its state dict
        return []
    if settings.dictionary_file is not None:
        return _words_of_file(Path(settings.dictionary_file), parts.vocabulary)
    whole, stop = parts.vocabulary.whole_word, parts.vocabulary.stop
    allowed = (whole & ~stop if parts.exclude_stop_words else whole).numpy()
    counts = np.bincount(parts.texts.ids, minlength=len(allowed)) * allowed
    # Words the training texts do not use come last, in vocabulary order, which in most tokenizers is by frequency.
    order = np.lexsort((np.arange(len(allowed)), -counts))
    return sorted(order[allowed[order]][: settings.dictionary_size].tolist())


def _words_of_file(path: Path, vocabulary: Vocabulary) -> list[int]:
    if not path.is_file():
        raise ConfigError(f"model.dictionary_file names '{path}', which is no file; write one word a line.")
    words = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not words:
        raise ConfigError(f"model.dictionary_file '{path}' is empty; write one word a line.")
    return vocabulary.tokens_of(words, "model.dictionary_file")
