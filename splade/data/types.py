"""What a data set is: ``Source`` and ``RawSplit`` as found, ``Dataset`` and ``TextSplit`` as training takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Columns = dict[str, list[object]]


@dataclass(frozen=True)
class TextSplit:
    """Texts with the number of each one's class."""

    texts: list[str]
    labels: list[int]
    extra: Columns = field(default_factory=dict)
    """Further columns of the source (identity groups, rationales), aligned with ``texts``."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Iterable[int]) -> TextSplit:
        """The given rows, in the given order."""
        rows = [int(row) for row in rows]
        return TextSplit(
            texts=[self.texts[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            extra={name: [values[row] for row in rows] for name, values in self.extra.items()},
        )


@dataclass(frozen=True)
class TaggedSplit:
    """Sentences with the number of each word's tag; 0 is O, then come B-X and I-X of one type X after the other."""

    sentences: list[list[str]]
    tags: list[list[int]]

    def __len__(self) -> int:
        return len(self.sentences)

    def take(self, rows: Iterable[int]) -> TaggedSplit:
        """The given rows, in the given order."""
        rows = [int(row) for row in rows]
        return TaggedSplit([self.sentences[row] for row in rows], [self.tags[row] for row in rows])


@dataclass(frozen=True)
class Dataset:
    """Three disjoint splits of one classification set; class ``i`` is called ``label_names[i]``."""

    name: str
    source: str
    """A sentence that says where the texts came from."""
    label_names: list[str]
    train: Any
    validation: Any
    test: Any
    notes: list[str] = field(default_factory=list)
    """Sentences about what was done to the source: carved, sampled, dropped."""


@dataclass(frozen=True)
class RawSplit:
    """Texts with their labels as the source writes them (names or numbers, all as text)."""

    texts: list[str]
    labels: list[str]
    extra: Columns
    origin: str
    """What messages call this split: a file name, or a set and its split."""


@dataclass(frozen=True)
class Source:
    """A place that holds a data set. Splits are read only when asked for: a source may have some nobody needs."""

    name: str
    description: str
    splits: dict[str, Callable[[], RawSplit]]
    label_names: list[str] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    """Which split plays ``train``, ``validation`` or ``test`` where that is not the split of the same name."""
    notes: list[str] = field(default_factory=list)


def dataset_fingerprint(dataset: Dataset) -> str:
    """SHA-256 over class names, labels and texts, so that a run is never resumed on other data."""
    digest = hashlib.sha256()

    def add(items: Sequence[object]) -> None:
        digest.update(f"{len(items)};".encode())
        for item in items:
            # Surrogates can come in through JSON escapes and must not stop a hash.
            encoded = str(item).encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}:".encode() + encoded)  # the length keeps "ab","c" apart from "a","bc"

    add(dataset.label_names)
    for split in (dataset.train, dataset.validation, dataset.test):
        if isinstance(split, TextSplit):
            add(split.labels)
            add(split.texts)
            continue
        add(["tagged", len(split)])
        for words, tags in zip(split.sentences, split.tags, strict=True):
            add(words)
            add(tags)
    return digest.hexdigest()
