"""Targets of a removal: tokens by number, words by name, files of words; what matched, and what did not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from splade.data.files import read_file
from splade.errors import ConfigError, ModelError
from splade.models.protocol import LexicalModel
from splade.models.removal import Match, Matched, Removal
from splade.models.word_reader import Pieces, words_in_pieces
from splade.task_description import describe

Targets = str | int | Path | Iterable[str | int]
"""One word, a token's number, a file with one word a line, or several words and numbers."""

SHOWN = 60


def find_targets(model: LexicalModel, tokens: Targets = (), words: Targets = ()) -> Matched:
    """What some targets stand for in a model: `tokens` to shut, `words` to silence.

    One that matches nothing does not refuse the others; where nothing at all matches, that is an error.
    """
    matched = _matched(_listed(tokens), lambda one: token_match(model, one))
    matched += _matched(_listed(words), lambda one: word_match(model, one))
    if not matched.found:
        raise nothing_matched(matched)
    return matched


def nothing_matched(matched: Matched) -> ConfigError:
    """The sentence to say where no target stands for anything."""
    if not matched.unmatched:
        return ConfigError("There is nothing to remove: no token and no word was named; name at least one.")
    return ConfigError(
        f"The list to suppress has {len(matched.unmatched)} word(s) the model has no token for, "
        f"'{matched.unmatched[0]!s:.{SHOWN}}' first, and no other; choose words that are tokens, or silence the word."
    )


def token_match(model: LexicalModel, asked: str | int) -> Match | None:
    """The tokens that a number, a word or a token as the tokenizer writes it stands for."""
    if isinstance(asked, int):
        return _by_number(model, asked)
    vocabulary, opened = model.vocabulary, model.open_words
    tokens = {int(vocabulary.base[entry]) for entry in vocabulary.match(asked)}
    split = split_spellings(model, asked) if opened is not None else set()
    if not tokens and not split:
        entries = (vocabulary.pieces.index(asked),) if asked in vocabulary.pieces[: vocabulary.tokens] else ()
        senses = (token for entry, token in vocabulary.sense_of.items() if vocabulary.names[entry] == asked)
        tokens = {int(vocabulary.base[entry]) for entry in (*entries, *senses)} if asked else set()
    return _match(model, asked, Removal(frozenset(tokens), frozenset(split)))


def word_match(model: LexicalModel, asked: str | int) -> Match | None:
    """The word to silence, if the tokenizer can write it as one word."""
    if isinstance(asked, int):
        return None
    word = model.vocabulary.normalise(asked)
    given = not describe(model.task).decides_on_texts  # then texts are given in words
    if not word or not (model.vocabulary.match(asked) or split_spellings(model, asked, given)):
        return None
    return Match(asked, Removal(words=frozenset([word])), (word,))


def split_spellings(model: LexicalModel, word: str, given: bool = False) -> set[Pieces]:
    """The pieces that the tokenizer makes of a word, at the beginning of a text and after a space, in any case;
    spellings that are one token are left out. `given`: whether texts are given in words, so that marks part none."""
    given = given or model.encoder.context is not None
    spellings = {word.strip(), word.strip().lower(), word.strip().upper(), word.strip().capitalize()}
    found = set()
    for text in {*spellings, *(f" {spelling}" for spelling in spellings)}:
        ids = torch.tensor([model.tokenizer(text, add_special_tokens=False)["input_ids"]], dtype=torch.long)
        if ids.numel():
            one = given and len(text.split()) == 1  # *German-owned*
            words = torch.zeros_like(ids) if one else None
            split, number = words_in_pieces(model.vocabulary, ids, torch.ones_like(ids), words)
            known = not bool(model.vocabulary.special[ids].any())
            found |= set(split.values()) if len(number.unique()) == 1 and known else set()  # one word, not several
    return found


def read_words(path: Path) -> list[str]:
    """The words of a file, one a line."""
    content: str = read_file(path, lambda stream, _: stream.read(), None)
    words = [line.strip() for line in content.splitlines() if line.strip()]
    if not words:
        raise ConfigError(f"The file {path} has no words; write one a line.")
    return words


def _listed(targets: Targets) -> list[str | int]:
    if isinstance(targets, Path):
        return list(read_words(targets))
    listed: list[Any] = [targets] if isinstance(targets, str | int) else _items(targets)
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise ModelError(
                f"Words to suppress were expected, a list of strings or of tokens' numbers, but {targets!r:.{SHOWN}} "
                "was given."
            )
    return listed


def _items(targets: Any) -> list[Any]:
    if isinstance(targets, Iterable) and not isinstance(targets, bytes):
        return [one.item() if hasattr(one, "item") else one for one in targets]  # numpy's and torch's numbers
    return [targets]


def _matched(asked: Iterable[str | int], match: Callable[[str | int], Match | None]) -> Matched:
    found = {one: match(one) for one in dict.fromkeys(asked)}
    return Matched(
        tuple(one for one in found.values() if one is not None),
        tuple(one for one, its in found.items() if its is None),
    )


def _by_number(model: LexicalModel, number: int) -> Match | None:
    vocabulary = model.vocabulary
    if not 0 <= number < len(vocabulary):
        return None
    token = int(vocabulary.base[number])
    if token < vocabulary.tokens:
        return _match(model, number, Removal(frozenset([token])))
    word = model.open_words.word_in(token) if model.open_words is not None else None
    return None if word is None else _match(model, number, Removal(split=frozenset([word])))


def _match(model: LexicalModel, asked: str | int, removal: Removal) -> Match | None:
    if not removal:
        return None
    return Match(asked, removal, tuple(removed_names(model, removal)))


def removed_names(model: LexicalModel, removal: Removal) -> list[str]:
    """The tokens of a removal as people read them, each name once."""
    vocabulary = model.vocabulary
    split = map(vocabulary.name_of, sorted(removal.split))
    names = [*(vocabulary.names[token] for token in sorted(removal.tokens)), *split]
    return list(dict.fromkeys(names))
