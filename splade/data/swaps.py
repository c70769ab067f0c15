"""Counterfactual texts: the same text about one group and about another, with nothing changed but the word for it.

Words are exchanged within a set of words of one form (``plural: women, men, muslims``), so that the text stays a text.
They come into templates, in the place of ``{set}``, or into real texts, in the place of a word of the set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from splade.data.groups import check_terms, terms_pattern
from splade.errors import DataError, listed, nearest, shown

_PLACE = re.compile(r"\{([^{}]*)\}")

TEMPLATES = (
    "I am {adjective}.",
    "My best friend is {adjective}.",
    "She is a wonderful {adjective} person.",
    "I hate {adjective} people.",
    "We all admire this {adjective} teacher.",
    "Some {adjective} people live in my street.",
    "That {adjective} man is disgusting.",
    "The new {adjective} doctor was late again.",
    "I talked to many {plural} today.",
    "{plural} are welcome here.",
    "All {plural} are stupid.",
    "Most {plural} have jobs and families.",
)
"""Sentences of all kinds, harmless and hateful, for the sets of `splade.data.identity_terms`; in the manner of Dixon et
al. 2018, doi:10.1145/3278721.3278729."""


@dataclass(frozen=True)
class Frame:
    """A text with a place for a word, and what becomes of it."""

    name: str
    """The template, or the text as it is."""
    variants: dict[str, str]
    """The text with each word in its place, by the word; two or more."""


def template_frames(templates: Sequence[str], sets: Mapping[str, Sequence[str]]) -> list[Frame]:
    """A frame a template, with every word of the set that it names; a sentence begins with a capital letter."""
    check_sets(sets)
    if not templates:
        raise DataError("There are no templates; write a sentence a line, with the name of a set in braces: {plural}.")
    frames = []
    for template in templates:
        named = set(_PLACE.findall(template))
        if len(named) != 1:
            raise DataError(
                f"The template {shown(template)} names {len(named)} sets of words in braces, where one was expected, "
                f"such as {{{next(iter(sets))}}}; correct it."
            )
        (name,) = named
        if name not in sets:
            raise DataError(
                f"The template {shown(template)} names the set '{name}', but there are: {listed(list(sets))}; name one "
                f"of these.{nearest(name, sets)}"
            )
        texts = {term: _PLACE.sub(lambda _, term=term: term, template) for term in sets[name]}  # type: ignore[misc]
        frames.append(Frame(template, {term: text[:1].upper() + text[1:] for term, text in texts.items()}))
    return frames


def text_frames(
    texts: Sequence[str], sets: Mapping[str, Sequence[str]], most: int, seed: int
) -> tuple[list[Frame], int]:
    """Texts that have a word of a set, with every other word of the set in its place, and how many such texts there
    are; of more than `most`, so many are drawn.

    Of several such words the first that stands in a text is exchanged, wherever it stands there, and written as it was:
    in capitals, or with one.
    """
    check_sets(sets)
    patterns = {name: terms_pattern(terms) for name, terms in sets.items()}
    having = [
        (text, name, match)
        for text in texts
        for name, match in [_first({name: pattern.search(text) for name, pattern in patterns.items()})]
        if match is not None
    ]
    chosen = np.sort(np.random.default_rng(seed).permutation(len(having))[:most])
    return [_exchanged(text, match.group(), sets[name]) for text, name, match in (having[n] for n in chosen)], len(
        having
    )


def check_sets(sets: Mapping[str, Sequence[str]]) -> None:
    """Refuse sets of which nothing could be exchanged."""
    check_terms(sets)
    for name, terms in sets.items():
        if len({term.lower() for term in terms}) < 2:
            raise DataError(
                f"The set '{name}' has the one word {shown(terms[0])}, where two or more were expected to be exchanged "
                "for each other; add some."
            )


def _first(found: Mapping[str, re.Match[str] | None]) -> tuple[str, re.Match[str] | None]:
    """The set whose word stands first in a text."""
    inside = [(match.start(), name, match) for name, match in found.items() if match is not None]
    if not inside:
        return "", None
    _, name, match = min(inside, key=lambda each: each[:2])
    return name, match


def _exchanged(text: str, word: str, terms: Sequence[str]) -> Frame:
    pattern, own = terms_pattern([word]), " ".join(word.lower().split())

    def replaced(term: str) -> str:
        return pattern.sub(lambda match: _written_as(match.group(), term), text)

    others = {term: replaced(term) for term in dict.fromkeys(terms) if term.lower() != own}
    return Frame(text, {own: text, **others})


def _written_as(word: str, term: str) -> str:
    """A term in capitals, or with one at its beginning, where the word it replaces is written so."""
    if len(word) > 1 and word.isupper():
        return term.upper()
    return term[:1].upper() + term[1:] if word[:1].isupper() else term
