"""Artefacts: words of the texts that carry much contribution, yet are no reason that a person would give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from splade.evaluation.word_weights import WordWeight
from splade.models.vocabulary import is_stop

MARKUP = re.compile(
    r"<(?=[/!\w])[^<>\n]{1,80}>"  # tags and placeholders: <br />, <user>
    r"|&#?\w{1,8};"  # characters by name: &amp;
    r"|\[\w+\]|\{\w+\}"  # placeholders: [removed], {name}
    r"|https?\s?:\s?/\s?/\s?\S+|\bwww\.\S+"  # addresses, also where a tokenizer has cut them
    r"|@\w+"  # accounts
    r"|-[lr][rsc]b-"  # brackets as treebanks write them
)

REMAINS = {"amp", "apos", "br", "gt", "href", "http", "https", "lt", "nbsp", "quot", "rt", "url", "www"}
"""What cleaning leaves of markup where the signs around it are gone."""

NEARLY_ALL = 0.8
"""Share of the texts a word stands in from which on it cannot tell them apart by its meaning."""

ENOUGH_TEXTS = 20
"""Below so many texts, standing in nearly all of them may be chance."""


@dataclass(frozen=True)
class Artefact(WordWeight):
    """A heavy word that is no reason."""

    kind: str
    """What it is instead, as a sentence says it."""


def artefacts(words: Sequence[WordWeight], texts: Sequence[str]) -> list[Artefact]:
    """Those of the heavy `words` of `texts` that are no reasons, in their order."""
    lowered = [text.lower() for text in texts]
    kinds = ((word, _kind(word.word, lowered)) for word in words)
    return [Artefact(**vars(word), kind=kind) for word, kind in kinds if kind]


def _kind(word: str, texts: Sequence[str]) -> str | None:
    """What a word is instead of a reason, None if it may be one; `texts` in lower case."""
    if not any(map(str.isalnum, word)):
        return "punctuation"
    if word in REMAINS:
        return "markup"
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    holding = [text for text in texts if word in text and whole.search(text)]
    occurrences = sum(len(whole.findall(text)) for text in holding)
    inside = sum(len(whole.findall(span)) for text in holding for span in MARKUP.findall(text))
    if 2 * inside > occurrences:
        return "markup"
    if not any(map(str.isalpha, word)):
        return "a number"
    if is_stop(word) and word.isascii():  # a single sign of another script may be a word
        return "a single letter" if len(word) == 1 else "a stop word"
    if len(texts) >= ENOUGH_TEXTS and len(holding) >= NEARLY_ALL * len(texts):
        return f"in {100 * len(holding) / len(texts):.0f} % of the texts"
    return None
