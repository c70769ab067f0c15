"""What a column looks like: texts, classes, numbers, dates, lists of words or of tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from splade.data.schemes import OUTSIDE, split_tag
from splade.errors import shown

Kind = Literal["nothing", "texts", "classes", "numbers", "dates", "words", "tags", "short values", "other values"]

SAMPLED = 5_000  # rows looked at, all over the column
FEWEST_WORDS = 3  # a text has, on average; labels and names have fewer
FEWEST_DIFFERENT = 0.5  # share of a column of texts; classes repeat
LONGEST_CLASS = 60  # characters of a class name, on average
MOST_CLASS_NUMBERS = 12  # different numbers that are surely classes: stars from 0 to 10, months
NEARLY_ALL = 0.9

# Scripts that do not part words by spaces have about a word a character or two.
UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2})?")
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Profile:
    """What a sample of a column's values has in common."""

    kind: Kind
    different: int
    rows: int
    words: float = 0.0
    """Words a value, on average."""

    def __str__(self) -> str:
        if self.kind == "texts":
            return f"texts of {self.words:.0f} words"
        return self.kind if self.kind in ("nothing", "dates") else f"{self.different} different {self.kind}"


def profile(values: Sequence[object]) -> Profile:
    """Look at some thousand values, spread over all."""
    sample = values[:: 1 + len(values) // SAMPLED]
    filled = [value for value in sample if value is not None and not (isinstance(value, str) and not value.strip())]
    if not filled:
        return Profile("nothing", 0, len(sample))
    if all(isinstance(value, list) for value in filled):
        return _of_lists(filled, len(sample))
    if not all(isinstance(value, str | int | float) for value in filled):
        return Profile("other values", len({shown(value) for value in filled}), len(sample))
    texts = [str(value).strip() for value in filled]
    different = len(set(texts))
    repeated = 2 <= different <= len(texts) / 2
    if _share(texts, NUMBER):
        whole = all(NUMBER.fullmatch(text) and float(text).is_integer() for text in texts)
        classes = repeated and different <= MOST_CLASS_NUMBERS and whole
        return Profile("classes" if classes else "numbers", different, len(sample))
    if _share(texts, DATE):
        return Profile("dates", different, len(sample))
    words = sum(len(text.split()) + len(UNSPACED.findall(text)) for text in texts) / len(texts)
    mostly_filled = 2 * len(filled) >= len(sample)
    if words >= FEWEST_WORDS and different >= FEWEST_DIFFERENT * len(texts) and mostly_filled:
        return Profile("texts", different, len(sample), words)
    short = sum(map(len, texts)) <= LONGEST_CLASS * len(texts)
    return Profile(
        "classes" if repeated and short else "short values" if short else "other values", different, len(sample)
    )


def _of_lists(lists: Sequence[object], rows: int) -> Profile:
    entries = list(chain.from_iterable(values for values in lists if isinstance(values, list)))
    different = {shown(entry): entry for entry in entries}.values()
    if entries and all(isinstance(entry, str) for entry in different):
        tags = OUTSIDE in different and all(split_tag(str(entry)) for entry in different)
        return Profile("tags" if tags else "words", len(different), rows)
    numbers = bool(entries) and all(isinstance(entry, int) for entry in different)
    return Profile("tags" if numbers else "other values", len(different), rows)


def _share(texts: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(pattern.fullmatch(text) is not None for text in texts) >= NEARLY_ALL * len(texts)
