"""The dictionary's words: frequent whole words of the training texts, or the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import ModelConfig
from splade.data.batching import encode_texts
from splade.errors import ConfigError
from splade.models.supports import SupportParts
from splade.models.supports.dictionary import DictionarySettings, DictionarySupport
from splade.models.vocabulary import Vocabulary
from tests.builders import build_tokenizer

TOKENIZER = build_tokenizer()
VOCABULARY = Vocabulary.from_tokenizer(TOKENIZER, len(TOKENIZER))
TEXTS = ["good film , the film", "the good film the ending", "the the charming unwatchable"]


def choose(**settings: object) -> list[str]:
    config = ModelConfig(**{"support": "dictionary", **settings})  # type: ignore[arg-type]
    backbone: Any = None
    parts = SupportParts(VOCABULARY, config.exclude_stop_words, backbone, encode_texts(TEXTS, TOKENIZER, 32))
    ids = DictionarySupport(parts, config.of(DictionarySettings)).tokens.tolist()
    assert ids == sorted(set(ids))
    return TOKENIZER.convert_ids_to_tokens(ids)


def test_is_the_most_frequent_whole_words_without_stop_words() -> None:
    assert set(choose(dictionary_size=2)) == {"film", "good"}
    assert set(choose(dictionary_size=2, exclude_stop_words=False)) == {"the", "film"}


def test_holds_no_pieces_marks_or_special_tokens() -> None:
    words = choose(dictionary_size=10_000)
    assert {"film", "good", "ending", "charming"} <= set(words)
    assert not any(word.startswith(("##", "[")) or word in ",.!" for word in words)


def test_own_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("charming\n\n  plot \n", encoding="utf-8")
    assert set(choose(dictionary_file=str(path))) == {"charming", "plot"}


def test_own_words_the_tokenizer_splits_are_named(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("charming\nunwatchable\nqzx\n")
    with pytest.raises(ConfigError, match=r"2 word\(s\) the tokenizer does not hold whole, 'unwatchable' first"):
        choose(dictionary_file=str(path))


def test_a_missing_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"dictionary_file names .*nowhere.txt', which is no file"):
        choose(dictionary_file=str(tmp_path / "nowhere.txt"))
