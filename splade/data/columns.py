"""From a table to texts and labels, and from labels to the numbers of their classes."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence

from splade.data.column_choice import LABEL_COLUMN as LABEL_COLUMN
from splade.data.column_choice import LABELS, TEXTS, choose_columns
from splade.data.column_choice import TEXT_COLUMN as TEXT_COLUMN
from splade.data.column_profile import NUMBER
from splade.data.encoding import clean_text
from splade.data.schemes import OUTSIDE, split_tag
from splade.data.types import Columns, RawSplit, Table, TextSplit
from splade.errors import DataError, OtherTaskError, UnknownLabelError, listed, nearest, shown

# How spreadsheets and data frames write the class 1 once a column has a gap.
FLOATING_INTEGER = re.compile(r"-?\d+\.0+")
# Numbers of so many different values, if they are this share of the rows, are measured and not classes ...
MOST_NUMBERS, MOST_NUMBERS_SHARE = 50, 0.2
MOST_FRACTIONS = 20  # ... and sooner if they have a fraction; half stars from 0 to 10 are still classes


def raw_split(
    table: Table,
    text_column: str | None = None,
    label_column: str | None = None,
    like: Mapping[str, str] | None = None,
) -> RawSplit:
    """Pick the text and label columns, check every row, and keep the other columns as ``extra``.

    ``like``: the columns of the training texts, which other splits must have too.
    """
    origin = table.origin
    if (
        any(isinstance(value, list) for value in table.columns.get("tokens", ()))
        and (text_column or TEXT_COLUMN) not in table.columns
    ):
        raise OtherTaskError(
            f"{origin} holds 'tokens' for tagging, but classification needs '{text_column or TEXT_COLUMN}' and "
            f"'{label_column or LABEL_COLUMN}' columns",
            "choose a classification set, or set task: tagging",
        )
    named = {TEXTS.setting: text_column, LABELS.setting: label_column} | require_columns(table, like or {})
    choice = choose_columns(table, {part: named[part.setting] for part in (TEXTS, LABELS)})
    text_column, label_column = choice.columns[TEXTS.setting], choice.columns[LABELS.setting]
    texts = raw_texts(table.columns, text_column, origin)
    labels = [
        _label(value, row, label_column, origin) for row, value in enumerate(table.columns[label_column], start=1)
    ]
    if not texts:
        raise DataError(f"{origin} has no rows, but at least one text and label is needed; check the file.")
    _check_classes(labels, label_column, origin)
    extra = {name: values for name, values in table.columns.items() if name not in (text_column, label_column)}
    notes = (*table.notes, *choice.notes, *_cleaned(table.columns[text_column], texts, origin))
    return RawSplit(texts, labels, extra, origin, notes, choice.columns)


def _cleaned(values: Sequence[object], texts: Sequence[str], origin: str) -> list[str]:
    """A sentence on texts that could not be taken as they are."""
    changed = sum(value != text for value, text in zip(values, texts, strict=True))
    return (
        [f"{origin}: {changed} text(s) have halves of characters; a question mark stands for each."] if changed else []
    )


def raw_texts(columns: Columns, text_column: str, origin: str) -> list[str]:
    """The column of texts, every row checked."""
    return [_text(value, row, text_column, origin) for row, value in enumerate(columns[text_column], start=1)]


def require_columns(table: Table, wanted: Mapping[str, str]) -> dict[str, str]:
    """Refuse a table without the columns that training reads, by the settings that name them."""
    for setting, name in wanted.items():
        if name not in table.columns:
            raise DataError(
                f"{table.origin} has no column '{name}', which the training data has, only: "
                f"{listed(list(table.columns)) or 'none'}; call it so in both, or name the right one with "
                f"data.{setting}."
            )
    return dict(wanted)


def _text(value: object, row: int, column: str, origin: str) -> str:
    if isinstance(value, str):  # an empty text is a text
        return clean_text(value)
    found = "nothing" if _is_missing(value) else shown(value)
    raise DataError(
        f"{origin} has {found} in row {row} of column '{column}', where text was expected; correct the row."
    )


def _label(value: object, row: int, column: str, origin: str) -> str:
    """The label as text, so that ``1``, ``1.0`` and ``"1"`` are one class wherever they were written."""
    if _is_missing(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan")):
        raise DataError(
            f"{origin} has no label in row {row} of column '{column}', but each text needs one; fill or drop the row."
        )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int):
        label = str(value).strip()
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in label):
            raise DataError(
                f"{origin} has the label {shown(label)} in row {row} of column '{column}', with a line break or "
                "another character that no class name has; correct the row."
            )
        return label.split(".")[0] if FLOATING_INTEGER.fullmatch(label) else label
    raise DataError(
        f"{origin} has {shown(value)} in row {row} of column '{column}', where a class name or whole number was "
        "expected; choose another data.label_column."
    )


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _check_classes(labels: Sequence[str], column: str, origin: str) -> None:
    """Refuse what was measured, since every value would be a class of its own, and the tags of words."""
    different = set(labels)
    if OUTSIDE in different and len(different) > 1 and all(map(split_tag, different)):
        raise DataError(
            f"{origin} has tags of words in column '{column}' ({listed(sorted(different))}), where classes of texts "
            "were expected; for a tagger, write a word and its tag a line and a blank line after each sentence "
            "(.conll), or JSON Lines with 'tokens' and 'tags'."
        )
    if len(different) <= MOST_FRACTIONS or not all(NUMBER.fullmatch(label) for label in different):
        return
    fractions = any(not label.lstrip("+-").isdecimal() for label in different)
    many = len(different) > MOST_NUMBERS and len(different) >= MOST_NUMBERS_SHARE * len(labels)
    if fractions or many:
        raise DataError(
            f"{origin} has {len(different)} different numbers in the {len(labels)} rows of column '{column}', which "
            "look measured, where classes were expected; make a few classes of them, or choose another "
            "data.label_column."
        )


def distinct_labels(labels: Sequence[str]) -> list[str]:
    """The different labels, sorted: as numbers if all are whole numbers, else as text."""
    different = set(labels)
    try:
        return sorted(different, key=int)
    except ValueError:
        return sorted(different)


def class_numbers(label_names: Sequence[str], numbered: bool) -> dict[str, int]:
    """What labels may be written, and the class number of each: names and, where these have a known order
    (``numbered``) and none is a number itself, their numbers."""
    numbers = {name: number for number, name in enumerate(label_names)}
    if numbered and not _has_numbers(label_names):
        numbers.update({str(number): number for number in range(len(label_names))})
    return numbers


def number_labels(labels: Sequence[str], label_names: Sequence[str], numbered: bool, origin: str) -> list[int]:
    """The class number of each label; ``origin``: what messages call the source of the labels."""
    numbers = class_numbers(label_names, numbered)
    for row, label in enumerate(labels, start=1):
        if label in numbers:
            continue
        if label.isdecimal() and not numbered and not _has_numbers(label_names):
            raise DataError(
                f"{origin} has the number {label} for a label in row {row}, but the classes are known by name alone "
                f"({listed(label_names)}), so that it may stand for any; write the names, or set data.labels to them "
                "in the order of their numbers."
            )
        raise UnknownLabelError(
            f"{origin} has the label {shown(label)} in row {row}, but the known classes are: {listed(label_names)}",
            "correct the row, or name all classes in data.labels",
            nearest(label, label_names),
        )
    return [numbers[label] for label in labels]


def _has_numbers(label_names: Sequence[str]) -> bool:
    return any(name.lstrip("-").isdecimal() for name in label_names)


def encode_labels(split: RawSplit, label_names: Sequence[str], numbered: bool) -> TextSplit:
    """Replace each label by its class number; blank texts are counted."""
    labels = number_labels(split.labels, label_names, numbered, split.origin)
    blank = sum(not text.strip() for text in split.texts)
    notes = (
        [f"{split.origin}: {blank} of {len(split.texts)} texts are empty or blank; they were kept."] if blank else []
    )
    return TextSplit(split.texts, labels, split.extra, (*split.notes, *notes))


class ClassLabels:
    """Numbers the labels of a set's splits."""

    column = "label_column"

    def __init__(self, given: Sequence[str] | None, sample: RawSplit, numbered: bool = True) -> None:
        """``given``: the class names, in the order of their numbers if ``numbered``; without them, the different labels
        of ``sample``."""
        self.names = self.classes = list(given or distinct_labels(sample.labels))
        self.numbered = numbered and bool(given)

    @staticmethod
    def problem(names: Sequence[str]) -> str | None:
        """Why these cannot be the names of a saved model's classes: any different names can."""
        return None

    def encode(self, raw: RawSplit) -> TextSplit:
        return encode_labels(raw, self.names, self.numbered)

    def occurring(self, split: TextSplit) -> set[int]:
        """Numbers of the classes that a split has."""
        return set(split.labels)

    def shortage(self, split: TextSplit) -> str | None:
        """What a split lacks to train on, if anything."""
        classes = len(self.occurring(split))
        return f"{classes} class, but a classifier needs two or more" if classes < 2 else None
