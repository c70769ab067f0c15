"""Artefacts: words and tokens that carry much contribution, yet are no reason that a person would give."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from splade.evaluation.word_weights import WordWeight
from splade.models.vocabulary import Vocabulary, is_stop

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
    """A heavy word, or token, that is no reason."""

    kind: str
    """What it is instead, as a sentence says it."""


def artefacts(
    words: Sequence[WordWeight], texts: Sequence[str], tokens: Sequence[WordWeight], vocabulary: Vocabulary
) -> list[Artefact]:
    """What is no reason among the heavy `words` of `texts` and the heavy `tokens` of `vocabulary`, the heaviest first.

    A token is judged by its name alone: it may fire where it does not stand.
    """
    special = {vocabulary.names[token].lower() for token in vocabulary.special.nonzero()[:, 0].tolist()}
    lowered = [text.lower() for text in texts]
    found = {word: _sign(word.word, special) or _use(word.word, lowered) for word in words}
    names = {word.word for word in words}
    found |= {token: _sign(token.word, special) for token in tokens if token.word.lower() not in names}
    heaviest_first = sorted(found, key=lambda each: -each.share)
    return [Artefact(**vars(each), kind=kind) for each in heaviest_first if (kind := found[each])]


def _sign(word: str, special: Collection[str]) -> str | None:
    """What a word is instead of a reason by the look of it; None if it may be one."""
    word = word.lower()
    if word in special:
        return "a sign of the tokenizer"
    if word in REMAINS:
        return "markup"
    if not is_stop(word) or not word.isascii():  # a single character of another script may be a word
        return None
    if not any(map(str.isalnum, word)):
        return "punctuation"
    if not any(map(str.isalpha, word)):
        return "a number"
    return "a single letter" if len(word) == 1 else "a stop word"


def _use(word: str, texts: Sequence[str]) -> str | None:
    """What a word is instead of a reason by where it stands in `texts`, all in lower case; None if it may be one."""
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    holding = [text for text in texts if word in text and whole.search(text)]
    occurrences = sum(len(whole.findall(text)) for text in holding)
    inside = sum(len(whole.findall(span)) for text in holding for span in MARKUP.findall(text))
    if 2 * inside > occurrences:
        return "markup"
    if len(texts) >= ENOUGH_TEXTS and len(holding) >= NEARLY_ALL * len(texts):
        return f"in {100 * len(holding) / len(texts):.0f} % of the texts"
    return None
