"""Which words are deleted from a text to see what they do: by rule, and those that were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from splade.attribution.explanation import WordScore
from splade.attribution.span_aggregation import check_span
from splade.data.stop_words import is_negation
from splade.errors import ConfigError, DataError

MOST_WORDS = 64
"""Words deleted of a text unless every one is asked for: each is a reading of the text, and a reading of a long text
takes long. Texts of so many words, as most sentences are, have all of theirs deleted."""

_GAP = re.compile(r"\s*(?:\.\.\.|…)\s*")
"""Between the parts of a span that others may stand between: "n't ... good"."""


@dataclass(frozen=True)
class Deletions:
    """What is to be deleted from each of some texts."""

    spans: Sequence[Any] | None = None
    """As they were given: character spans (start, end), a list of them a text; or strings, looked for in every text."""
    every: bool = False
    """Every word that the model reads, also of a long text."""

    @classmethod
    def asked(cls, interactions: bool, spans: object, all_words: bool) -> Deletions | None:
        """What the options of `explain` ask for; None: nothing."""
        if not isinstance(interactions, bool) or not isinstance(all_words, bool):
            raise ConfigError(
                f"interactions is {interactions!r:.60} and all_words {all_words!r:.60}, but True or False was expected."
            )
        if not interactions:
            if spans is not None or all_words:
                name = "all_words" if spans is None else "spans"
                raise ConfigError(f"{name} was given, which says what interactions are of; add interactions=True.")
            return None
        if spans is not None and (isinstance(spans, str) or not isinstance(spans, Iterable)):
            raise DataError(
                f"spans is {spans!r:.60}, but a list was expected, of (start, end) or of words to look for; put it in "
                "one."
            )
        return cls(None if spans is None else list(spans), all_words)

    def of_texts(self, texts: Sequence[str]) -> list[TextDeletions]:
        """The spans of each text, checked."""
        given = self.spans or []
        if all(isinstance(span, str) for span in given):
            return [_found(text, given) for text in texts]
        if len(texts) == 1 and all(_is_span(span) for span in given):
            given = [given]
        if len(given) != len(texts):
            raise DataError(
                f"spans has {len(given)} entries for {len(texts)} text(s); give a list of (start, end) for each text, "
                "or words to look for in all of them."
            )
        return [_checked(text, spans) for text, spans in zip(texts, given, strict=True)]


@dataclass(frozen=True)
class TextDeletions:
    """What was asked for of one text."""

    spans: list[list[tuple[int, int]]]
    """Each of one stretch of characters, or of several that go together."""
    not_found: list[str] = field(default_factory=list)


def words_to_delete(words: Sequence[WordScore], read_to: int, *, every: bool) -> list[int]:
    """Numbers of the words to delete one at a time, of those that begin before character `read_to`.

    All of them up to `MOST_WORDS`, or if `every` one is asked for. Of a longer text: negations and the words beside
    them, then the words with the largest shares and those beside them, until there are so many.
    """
    read = [n for n, word in enumerate(words) if word.start < read_to]
    if every or len(read) <= MOST_WORDS:
        return read
    loudest = sorted((n for n in read if words[n].score != 0.0), key=lambda n: -abs(words[n].score))
    chosen: dict[int, None] = {}
    for n in [*(n for n in read if is_negation(words[n].word)), *loudest]:
        chosen |= dict.fromkeys(near for near in (n, n - 1, n + 1) if 0 <= near <= read[-1])
    return sorted(list(chosen)[:MOST_WORDS])


def words_in(words: Sequence[WordScore], span: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Numbers of the words that have a character in a span; such are deleted whole."""
    found = frozenset(n for n, word in enumerate(words) for a, b in span if word.start < b and a < word.end)
    if not found:
        raise DataError(f"The span {span[0]} holds no word of the text; give one that does.")
    return found


def _is_span(span: Any) -> bool:
    """Whether this is (start, end), or several of these that go together, and not the spans of a text."""
    parts = list(span) if isinstance(span, Iterable) else []
    if len(parts) == 2 and not any(isinstance(part, Iterable) for part in parts):
        return True
    return isinstance(span, tuple) and bool(parts) and all(isinstance(part, Iterable) for part in parts)


def _checked(text: str, spans: Any) -> TextDeletions:
    if isinstance(spans, str) or not isinstance(spans, Iterable):
        raise DataError(f"The spans of a text are a list of (start, end), but {spans!r:.60} was given.")
    found = []
    for span in spans:
        several = isinstance(span, Sequence) and span and all(isinstance(part, Sequence) for part in span)
        found.append([check_span(part, text) for part in span] if several else [check_span(span, text)])
    return TextDeletions(found)


def _found(text: str, phrases: Sequence[str]) -> TextDeletions:
    """Every place in the text where a phrase stands, whatever its case and white space."""
    spans, missing = [], []
    for phrase in phrases:
        parts = [part.split() for part in _GAP.split(phrase) if part.strip()]
        if not parts:
            raise DataError(f"The span {phrase!r:.60} has no word to look for; give one that has.")
        pattern = ".*?".join(_whole_words(part) for part in parts)
        matches = list(re.finditer(pattern, text, re.IGNORECASE | re.DOTALL))
        spans += [[match.span(n + 1) for n in range(len(parts))] for match in matches]
        missing += [] if matches else [phrase]
    return TextDeletions(spans, missing)


def _whole_words(words: Sequence[str]) -> str:
    """A pattern of words side by side, of which the first and the last are no parts of longer ones."""
    before = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    after = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    return before + "(" + r"\s+".join(re.escape(word) for word in words) + ")" + after
