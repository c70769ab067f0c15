"""The words of the `dictionary` support: the user's own list, or the training texts' most frequent whole words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig
from splade.data.batching import EncodedTexts
from splade.errors import ConfigError
from splade.models.vocabulary import Vocabulary


def choose_dictionary(
    config: ModelConfig, tokenizer: PreTrainedTokenizerFast, vocab_size: int, texts: EncodedTexts
) -> list[int]:
    """Token ids, ascending; empty when the support is not asked for."""
    if "dictionary" not in config.support:
        return []
    vocabulary = Vocabulary.from_tokenizer(tokenizer, vocab_size)
    if config.dictionary_file is not None:
        return _from_file(Path(config.dictionary_file), vocabulary)
    allowed = vocabulary.whole_word & ~vocabulary.stop if config.exclude_stop_words else vocabulary.whole_word
    counts = np.bincount(texts.ids, minlength=vocab_size) * allowed.numpy()
    # Words the training texts do not use come last, in vocabulary order, which in most tokenizers is by frequency.
    order = np.lexsort((np.arange(vocab_size), -counts))
    return sorted(order[allowed.numpy()[order]][: config.dictionary_size].tolist())


def _from_file(path: Path, vocabulary: Vocabulary) -> list[int]:
    if not path.is_file():
        raise ConfigError(f"model.dictionary_file names '{path}', which is no file; write one word a line.")
    words = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not words:
        raise ConfigError(f"model.dictionary_file '{path}' is empty; write one word a line.")
    return vocabulary.tokens_of(words, "model.dictionary_file")
