"""Rationales: which words of a text people gave as the reason for its label, as a split's further columns hold them.

A text's words are what stands between its white space, whatever a model makes of them. The columns are those of the
data root, and of a user's own JSON Lines:

- ``rationale``: a 0 or 1 for each word, or a list of [start, end) spans of words; null or empty: there is none;
- ``rationale_votes``, if several people marked the words apart: how many marked each;
- ``id``: what others call the text, for files that are exchanged.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from splade.data.types import Columns
from splade.errors import DataError, shown

RATIONALE, VOTES, NAME = "rationale", "rationale_votes", "id"
"""The columns."""

Marked = Literal["any", "most"]
"""Whose words are a text's rationale where several people marked them: those of anybody, or what ``rationale`` says."""

Span = tuple[int, int]

_WORD = re.compile(r"\S+")  # the words that str.split() gives


def white_space_words(text: str) -> list[Span]:
    """Character spans of the words between white space."""
    return [match.span() for match in _WORD.finditer(text)]


@dataclass(frozen=True)
class RationaleText:
    """A text, and the words of it that people gave as the reason for its label."""

    text: str
    name: str
    words: list[Span]
    """(W,) characters of each."""
    gold: np.ndarray | None
    """(W,) bool: the words marked; None: nobody marked any."""
    spans: list[Span]
    """The marked words as they were marked, [start, end); of a rationale that is a 0 or 1 a word, its runs of ones."""

    @property
    def is_whole(self) -> bool:
        """Whether every word is marked, so that no explanation can be better than another."""
        return self.gold is not None and bool(self.gold.all())


def rationale_texts(texts: Sequence[str], extra: Columns, marked: Marked = "any") -> list[RationaleText] | None:
    """The texts of a split with their rationales; ``extra``: its further columns. None if these have no rationales."""
    if RATIONALE not in extra and VOTES not in extra:
        return None
    nothing: list[object] = [None] * len(texts)
    rationales, votes, names = (extra.get(column) or nothing for column in (RATIONALE, VOTES, NAME))
    rows = enumerate(zip(texts, rationales, votes, names, strict=True), start=1)
    return [_rationale_text(*values, row, marked) for row, values in rows]


def rationale_hash(extra: Columns) -> str:
    """A hash of all that was marked, or of whatever else the columns hold."""
    columns = [extra.get(name) for name in (RATIONALE, VOTES, NAME)]
    return hashlib.sha256(json.dumps(columns, default=str).encode()).hexdigest()


def mean_share(texts: Sequence[RationaleText]) -> float | None:
    """The mean share of a text's words that is marked, over texts where some are and some are not; None: of none."""
    shares = [one.gold.mean() for one in texts if one.gold is not None and not one.is_whole]
    return float(np.mean(shares)) if shares else None


@dataclass(frozen=True)
class Marking:
    """How people mark, in the mean over texts where some words are marked and some are not."""

    share: float
    """Of a text's words."""
    length: float
    """Words in a row: of a mark, not of a text."""


def marking(texts: Sequence[RationaleText]) -> Marking | None:
    """How people marked these texts; None: there are none to tell by."""
    share = mean_share(texts)
    lengths = [end - start for one in texts if not one.is_whole for start, end in one.spans]
    return None if share is None else Marking(share, float(np.mean(lengths)))


def runs(marks: np.ndarray) -> list[Span]:
    """[start, end) of the runs of true values in (W,) marks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(np.int8), [0]])))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _rationale_text(
    text: str, rationale: object, votes: object, name: object, row: int, marked: Marked
) -> RationaleText:
    words = white_space_words(text)
    title = name if isinstance(name, str) and name else f"text_{row}"
    spans = None
    if votes and marked == "any":
        marks = np.array(_whole_numbers(votes, len(words), row, VOTES)) > 0
    else:
        marks, spans = _marks(rationale, len(words), row)
    if not marks.any():
        return RationaleText(text, title, words, None, [])
    return RationaleText(text, title, words, marks, runs(marks) if spans is None else spans)


def _marks(rationale: object, words: int, row: int) -> tuple[np.ndarray, list[Span] | None]:
    """(W,) bool, and the spans where it was given by spans."""
    marks = np.zeros(words, dtype=bool)
    if not rationale:  # null, and no spans
        return marks, None
    if not isinstance(rationale, list):
        raise _not_understood(rationale, words, row, RATIONALE)
    if any(isinstance(part, list) for part in rationale):
        spans = [_span(part, words, row) for part in rationale]
        for start, end in spans:
            marks[start:end] = True
        return marks, spans
    return np.array(_whole_numbers(rationale, words, row, RATIONALE)) > 0, None


def _span(part: object, words: int, row: int) -> Span:
    if isinstance(part, list) and len(part) == 2 and all(type(place) is int for place in part):
        start, end = part
        if 0 <= start < end <= words:
            return start, end
    raise _not_understood(part, words, row, RATIONALE)


def _whole_numbers(values: object, words: int, row: int, column: str) -> list[int]:
    """A number from 0 a word; of a rationale, no more than 1."""
    most = 1 if column == RATIONALE else np.inf
    counted = isinstance(values, list) and all(isinstance(value, int) and 0 <= value <= most for value in values)
    if isinstance(values, list) and counted and len(values) == words:
        return [int(value) for value in values]
    raise _not_understood(values, words, row, column)


def _not_understood(found: object, words: int, row: int, column: str) -> DataError:
    expected = "a 0 or 1 for each, or [start, end) spans of words," if column == RATIONALE else "a count for each"
    length = f", {len(found)} values" if isinstance(found, list) else ""
    return DataError(
        f"Text {row} has {words} words between white space and {shown(found)}{length} in column '{column}', where "
        f"{expected} was expected; correct the row or leave the column out."
    )
