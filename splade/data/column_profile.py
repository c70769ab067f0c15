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
    there = [each for each in sample if each is not None and not (isinstance(each, str) and not each.strip())]
    if not there:
        return Profile("nothing", 0, len(sample))
    if all(isinstance(each, list) for each in there):
        return _of_lists(there, len(sample))
    if not all(isinstance(each, str | int | float) for each in there):
        return Profile("other values", len({shown(each) for each in there}), len(sample))
    texts = [str(each).strip() for each in there]
    different = len(set(texts))
    repeated = 2 <= different <= len(texts) / 2
    if _share(texts, NUMBER):
        whole = all(NUMBER.fullmatch(each) and float(each).is_integer() for each in texts)
        classes = repeated and different <= MOST_CLASS_NUMBERS and whole
        return Profile("classes" if classes else "numbers", different, len(sample))
    if _share(texts, DATE):
        return Profile("dates", different, len(sample))
    words = sum(len(each.split()) + len(UNSPACED.findall(each)) for each in texts) / len(texts)
    mostly_there = 2 * len(there) >= len(sample)
    if words >= FEWEST_WORDS and different >= FEWEST_DIFFERENT * len(texts) and mostly_there:
        return Profile("texts", different, len(sample), words)
    short = sum(map(len, texts)) <= LONGEST_CLASS * len(texts)
    return Profile(
        "classes" if repeated and short else "short values" if short else "other values", different, len(sample)
    )


def _of_lists(lists: Sequence[object], rows: int) -> Profile:
    entries = list(chain.from_iterable(each for each in lists if isinstance(each, list)))
    different = {shown(each): each for each in entries}.values()
    if entries and all(isinstance(each, str) for each in different):
        tags = OUTSIDE in different and all(split_tag(str(each)) for each in different)
        return Profile("tags" if tags else "words", len(different), rows)
    numbers = bool(entries) and all(isinstance(each, int) for each in different)
    return Profile("tags" if numbers else "other values", len(different), rows)


def _share(texts: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(pattern.fullmatch(each) is not None for each in texts) >= NEARLY_ALL * len(texts)
