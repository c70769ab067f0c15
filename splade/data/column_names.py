"""Names of columns as a source writes them, made fit to be told apart and printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from splade.data.encoding import clean_text
from splade.errors import DataError, shown

UNNAMED = "unnamed column"  # data frames are often written with their row numbers, in a column without a name


def column_names(names: Sequence[str], origin: str) -> list[str]:
    """Each on one line, without spaces around it, and a name by its place for a column that has none."""
    clean = [" ".join(clean_text(name).split()) for name in names]
    clean = ["".join(character for character in name if character.isprintable()) for name in clean]
    named = [name or f"{UNNAMED} {place}" for place, name in enumerate(clean, start=1)]
    if len(set(named)) < len(named):
        twice = next(name for name, count in Counter(named).items() if count > 1)
        raise DataError(f"{origin} names a column twice ({shown(twice)}); give each column its own name.")
    return named
