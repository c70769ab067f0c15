"""From named columns to texts and labels, whatever file or hub the columns came from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from splade.data.types import Columns, RawSplit, TextSplit
from splade.errors import DataError, OtherTaskError, UnknownLabelError, nearest

TEXT_COLUMN = "text"
LABEL_COLUMN = "label"
# How spreadsheets and data frames write the class 1 once a column has a gap.
FLOATING_INTEGER = re.compile(r"-?\d+\.0+")

SHOWN_LABELS = 20  # class names an error message lists; more would bury the sentence


def raw_split(columns: Columns, text_column: str | None, label_column: str | None, origin: str) -> RawSplit:
    """Pick the text and label columns, check every row, and keep the other columns as ``extra``."""
    text_column, label_column = text_column or TEXT_COLUMN, label_column or LABEL_COLUMN
    if "tokens" in columns and text_column not in columns:
        raise OtherTaskError(
            f"{origin} holds 'tokens' for tagging, but classification needs '{text_column}' and '{label_column}' "
            "columns",
            "choose a classification set, or set task: tagging",
        )
    require_columns(columns, {"text_column": text_column, "label_column": label_column}, origin)
    texts = raw_texts(columns, text_column, origin)
    labels = [_label(value, row, label_column, origin) for row, value in enumerate(columns[label_column], start=1)]
    if not texts:
        raise DataError(f"{origin} has no rows, but at least one text and label is needed; check the file.")
    extra = {name: values for name, values in columns.items() if name not in (text_column, label_column)}
    return RawSplit(texts, labels, extra, origin)


def raw_texts(columns: Columns, text_column: str, origin: str) -> list[str]:
    """The column of texts, every row checked."""
    return [_text(value, row, text_column, origin) for row, value in enumerate(columns[text_column], start=1)]


def require_columns(columns: Columns, wanted: Mapping[str, str], origin: str) -> None:
    """Refuse a source without the columns that settings of the given names stand for."""
    for setting, name in wanted.items():
        if name not in columns:
            raise missing_column(name, setting, columns, origin)


def missing_column(wanted: str, setting: str, columns: Columns, origin: str) -> DataError:
    return DataError(
        f"{origin} has no column '{wanted}', only: {', '.join(columns) or 'none'}; "
        f"name the right one with data.{setting}.{nearest(wanted, columns)}"
    )


def clean_text(text: str) -> str:
    """Half a surrogate pair, as JSON escapes can write, would stop the tokenizer."""
    return text.encode("utf-8", "replace").decode("utf-8")


def listed(names: Sequence[str]) -> str:
    """Class names in a message, the first of many."""
    return ", ".join(names[:SHOWN_LABELS]) + (", ..." if len(names) > SHOWN_LABELS else "")


def _text(value: object, row: int, column: str, origin: str) -> str:
    if isinstance(value, str):  # an empty text is a text
        return clean_text(value)
    found = "nothing" if _is_missing(value) else repr(value)
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
        return label.split(".")[0] if FLOATING_INTEGER.fullmatch(label) else label
    raise DataError(
        f"{origin} has {value!r} in row {row} of column '{column}', where a class name or whole number was expected; "
        "choose another data.label_column."
    )


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def distinct_labels(labels: Sequence[str]) -> list[str]:
    """The different labels, sorted: as numbers if all are whole numbers, else as text."""
    found = set(labels)
    try:
        return sorted(found, key=int)
    except ValueError:
        return sorted(found)


def encode_labels(split: RawSplit, label_names: Sequence[str]) -> TextSplit:
    """Replace each label by its class number; a label is a class name or, if no name is a number, already that."""
    numbers = {name: number for number, name in enumerate(label_names)}
    if not any(name.lstrip("-").isdecimal() for name in label_names):
        numbers.update({str(number): number for number in range(len(label_names))})
    for row, label in enumerate(split.labels, start=1):
        if label not in numbers:
            raise UnknownLabelError(
                f"{split.origin} has the label '{label}' in row {row}, but the known classes are: "
                f"{listed(label_names)}",
                "correct the row, or name all classes in data.labels",
                nearest(label, label_names),
            )
    return TextSplit(split.texts, [numbers[label] for label in split.labels], split.extra)


class ClassLabels:
    """Numbers the labels of a set's splits."""

    column = "label_column"

    def __init__(self, given: Sequence[str] | None, sample: RawSplit) -> None:
        """``given``: the class names; without them, the different labels of ``sample``."""
        self.names = self.classes = list(given or distinct_labels(sample.labels))

    def encode(self, raw: RawSplit) -> TextSplit:
        return encode_labels(raw, self.names)

    def occurring(self, split: TextSplit) -> set[int]:
        """Numbers of the classes that a split has."""
        return set(split.labels)

    def shortage(self, split: TextSplit) -> str | None:
        """What a split lacks to train on, if anything."""
        found = len(self.occurring(split))
        return f"{found} class, but a classifier needs two or more" if found < 2 else None
