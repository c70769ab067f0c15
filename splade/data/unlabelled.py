"""Texts without labels in a table: those that a trained model is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from splade.data.column_choice import TEXT_COLUMN, TOKENS_COLUMN, choose_texts
from splade.data.columns import raw_texts
from splade.data.tags import raw_words
from splade.data.types import Table
from splade.errors import DataError

Settings = Mapping[str, str | None]
"""The settings of `data` that a model was trained with."""


def texts_to_classify(table: Table, column: str | None, trained: Settings) -> tuple[list[str], Sequence[str]]:
    """The texts of a column, and notes: the one called ``column``, the one of the training, or what can be meant."""
    if column is not None:
        return raw_texts(table.columns, _existing(table, [column]), table.origin), ()
    name = _first(table, [trained.get("text_column"), TEXT_COLUMN])
    chosen, notes = (name, ()) if name is not None else choose_texts(table)
    return raw_texts(table.columns, chosen, table.origin), notes


def texts_to_tag(
    table: Table, column: str | None, trained: Settings
) -> tuple[list[str] | list[list[str]], Sequence[str]]:
    """The same for a tagger, which reads lists of words as well as texts; a column must have one of the names."""
    of_words = [trained.get("tokens_column"), TOKENS_COLUMN]
    names = [*of_words, trained.get("text_column"), TEXT_COLUMN] if column is None else [column]
    chosen = _existing(table, names)
    if chosen in of_words or any(isinstance(value, list) for value in table.columns[chosen]):
        return raw_words(table.columns, chosen, table.origin), ()
    return raw_texts(table.columns, chosen, table.origin), ()


def _first(table: Table, names: Sequence[str | None]) -> str | None:
    return next((name for name in names if name is not None and name in table.columns), None)


def _existing(table: Table, names: Sequence[str | None]) -> str:
    chosen = _first(table, names)
    if chosen is None:
        wanted = " or ".join(f"'{name}'" for name in dict.fromkeys(names) if name)
        existing = ", ".join(table.columns)
        raise DataError(f"{table.origin} has no column {wanted}, only: {existing}; name the one to read with --column.")
    return chosen
