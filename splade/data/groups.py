"""Identity groups: whom a text is about, as a split's further columns or the words of the text say. Groups may overlap.

The columns are those of the data root, of Civil Comments, and of a user's own file:

- names: a list of group names a text, or text with one name or several parted by ``;``, ``|`` or commas; null or empty:
  the text is about nobody;
- numbers from 0 to 1: the share of raters who saw the group that the column is called after. From one half on the text
  counts as about it. Null: nobody was asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from splade.data.types import Columns
from splade.errors import DataError, listed, nearest, shown

MEMBER_FROM = 0.5
"""Share of raters from which on a text is about a group: Civil Comments' own line."""

NAME_COLUMNS = ("groups_majority", "groups")
"""Columns of names as the data root calls them, the first that there is being read: HateXplain has one for what most of
its annotators said."""

IDENTITY_COLUMNS = (
    *("male", "female", "transgender", "other_gender"),
    *("heterosexual", "homosexual_gay_or_lesbian", "bisexual", "other_sexual_orientation"),
    *("christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion"),
    *("black", "white", "asian", "latino", "other_race_or_ethnicity"),
    *("physical_disability", "intellectual_or_learning_disability", "psychiatric_or_mental_illness"),
    "other_disability",
)
"""The 24 columns of Civil Comments."""

_PARTED = re.compile(r"[;|,]")


@dataclass(frozen=True)
class Groups:
    """Which texts of a split are about whom."""

    members: dict[str, np.ndarray]
    """(N,) bool, by the name of the group; the largest group first."""
    source: str
    """How it is known: the columns, or the terms."""
    unknown: int = 0
    """Texts of which no column says anything, not even that they are about nobody; they count as that."""


def group_columns(extra: Columns) -> list[str]:
    """The columns of groups with the usual names: one of names, else those of Civil Comments; none: an empty list."""
    names = [name for name in NAME_COLUMNS if name in extra]
    return names[:1] or [name for name in IDENTITY_COLUMNS if name in extra]


def column_groups(extra: Columns, columns: Sequence[str] | None = None) -> Groups:
    """The groups that a split's further columns name; None: those with the usual names."""
    chosen = list(columns) if columns is not None else group_columns(extra)
    if not chosen:
        raise DataError(
            f"The data has no columns of groups ({', '.join(NAME_COLUMNS)}, or those of Civil Comments), only: "
            f"{_columns(extra)}; name its columns, or give a list of terms."
        )
    for name in chosen:
        if name not in extra:
            raise DataError(
                f"The data has no column '{name}' of groups, only: {_columns(extra)}; name one of these, or give a "
                f"list of terms.{nearest(name, extra)}"
            )
    size = len(extra[chosen[0]])
    members: dict[str, np.ndarray] = {}
    known = np.zeros(size, dtype=bool)
    for column in chosen:
        for row, names in enumerate(_names(extra[column], column)):
            known[row] |= names is not None
            for name in names or ():
                members.setdefault(name, np.zeros(size, dtype=bool))[row] = True
    if not members:
        raise DataError(
            f"No text is about anybody: the columns of groups ({listed(chosen)}) are empty or below {MEMBER_FROM}; "
            "name other columns, or give a list of terms."
        )
    source = f"{'column' if len(chosen) == 1 else 'columns'} {', '.join(chosen)}"
    return Groups(_largest_first(members), source, int((~known).sum()))


def term_groups(texts: Sequence[str], terms: Mapping[str, Sequence[str]]) -> Groups:
    """Texts in which a term of a group stands, as whole words and in any case; a group that no text names is left
    out."""
    check_terms(terms)
    found = {name: terms_pattern(of_group) for name, of_group in terms.items()}
    members = {
        name: np.array([pattern.search(text) is not None for text in texts], dtype=bool)
        for name, pattern in found.items()
    }
    members = {name: inside for name, inside in members.items() if inside.any()}
    if not members:
        raise DataError(
            f"No text has any of the {sum(map(len, terms.values()))} terms of groups ({listed(list(terms))}); give "
            "terms that the texts have, as they are written there."
        )
    return Groups(_largest_first(members), "terms in the texts")


def terms_pattern(terms: Sequence[str]) -> re.Pattern[str]:
    """Finds any of some terms, as whole words in any case, the longest first; a space stands for any white space."""
    ordered = sorted({term.strip() for term in terms}, key=lambda term: (-len(term), term))
    each = [r"\s+".join(re.escape(part) for part in term.split()) for term in ordered]
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)", re.IGNORECASE)


def check_terms(terms: Mapping[str, Sequence[str]]) -> None:
    """Refuse groups without terms, and terms without letters."""
    if not terms:
        raise DataError("The list of terms is empty; write a line a group: its name, a colon, and its terms.")
    for name, of_group in terms.items():
        if not of_group or not all(isinstance(term, str) and re.search(r"\w", term) for term in of_group):
            raise DataError(
                f"The group '{name}' has the terms {shown(list(of_group))}, where one or more words were expected; "
                "give it terms, or leave it out."
            )


def parse_terms(lines: Sequence[str], origin: str) -> dict[str, list[str]]:
    """Terms as a file has them: a line a group, `name: term, term`; `#` begins a comment. A line without a colon is a
    group of that one term."""
    terms: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        name, colon, rest = line.partition("#")[0].strip().partition(":")
        found = [term.strip() for term in (rest if colon else name).split(",") if term.strip()]
        if not name and not found:
            continue
        if not name.strip() or not found or (not colon and len(found) > 1):
            raise DataError(
                f"{origin}, line {number} is {shown(line.strip())}, where the name of a group, a colon and its terms "
                "with commas between them were expected; correct the line."
            )
        terms.setdefault(name.strip(), []).extend(found)
    if not terms:
        raise DataError(f"{origin} has no terms; write a line a group: its name, a colon, and its terms.")
    check_terms(terms)
    return terms


def _columns(extra: Columns) -> str:
    return listed(list(extra)) or "none beside text and label"


def _largest_first(members: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(sorted(members.items(), key=lambda item: (-int(item[1].sum()), item[0])))


def _names(values: Sequence[object], column: str) -> list[list[str] | None]:
    """The groups that each text is about; None: the column says nothing of it."""
    numbers = [_number(value) for value in values]
    asked = [number for value, number in zip(values, numbers, strict=True) if not _is_missing(value)]
    if asked and all(number is not None for number in asked):
        return [_by_share(number, column, row) for row, number in enumerate(numbers, start=1)]
    return [_by_name(value, column, row) for row, value in enumerate(values, start=1)]


def _by_share(number: float | None, column: str, row: int) -> list[str] | None:
    if number is None:
        return None
    if not 0 <= number <= 1:
        raise DataError(
            f"Row {row} has {number:g} in column '{column}' of groups, where a share from 0 to 1 was expected; "
            "correct the row, or name another column."
        )
    return [column] if number >= MEMBER_FROM else []


def _by_name(value: object, column: str, row: int) -> list[str] | None:
    if _is_missing(value):
        return None
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return list(dict.fromkeys(name.strip() for name in _PARTED.split(value) if name.strip()))
    if isinstance(value, list) and all(isinstance(name, str) and name.strip() for name in value):
        return list(dict.fromkeys(name.strip() for name in value))
    raise DataError(
        f"Row {row} has {shown(value)} in column '{column}' of groups, where names were expected (a list, or text with "
        "; between them); correct the row, or name another column."
    )


def _number(value: object) -> float | None:
    """A number, also as text; None: it is none."""
    if isinstance(value, bool | int | float | np.number):
        return None if math.isnan(value) else float(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(value.strip().lower())
        return None if math.isnan(number) else number
    return None


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    return value is None or (isinstance(value, float) and math.isnan(value))
