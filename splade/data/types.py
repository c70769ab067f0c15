"""What a data set is: a ``Source`` of raw splits as found, a ``Dataset`` of numbered ones as training takes it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

Columns = dict[str, list[object]]


@dataclass(frozen=True)
class TextSplit:
    """Texts with the number of each one's class."""

    texts: list[str]
    labels: list[int]
    extra: Columns = field(default_factory=dict)
    """Further columns of the source (identity groups, rationales), aligned with ``texts``."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences about what was decided or found when the source was read."""
    unit: ClassVar[str] = "text"
    parting: ClassVar[str] = ""
    """How files part one from the next, where people get it wrong; in brackets, after a space."""

    @property
    def examples(self) -> list[str]:
        """What a model is given: the texts."""
        return self.texts

    @property
    def strata(self) -> Sequence[int]:
        """What samples keep in proportion: the classes."""
        return self.labels

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Iterable[int]) -> TextSplit:
        """The given rows, in the given order."""
        rows = [int(row) for row in rows]
        return TextSplit(
            texts=[self.texts[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            extra={name: [values[row] for row in rows] for name, values in self.extra.items()},
            notes=self.notes,
        )

    def renumbered(self, numbers: Sequence[int]) -> TextSplit:
        """The same with the number ``numbers[label]`` in the place of each label."""
        return replace(self, labels=[numbers[label] for label in self.labels])

    def contents(self) -> Iterator[Sequence[object]]:
        """All labels and texts, in an order that does not change between versions: fingerprints are made of it."""
        yield self.labels
        yield self.texts


@dataclass(frozen=True)
class TaggedSplit:
    """Sentences with the number of each word's tag; 0 is O, then come B-X and I-X of one type X after the other."""

    sentences: list[list[str]]
    tags: list[list[int]]
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences about what was decided, rewritten or left out when the source was read."""
    unit: ClassVar[str] = "sentence"
    parting: ClassVar[str] = " (in a column file a blank line ends each)"

    @property
    def extra(self) -> Columns:
        """Further columns of the source: none are kept."""
        return {}

    @property
    def examples(self) -> list[list[str]]:
        """What a model is given: the words of each sentence."""
        return self.sentences

    @property
    def texts(self) -> list[str]:
        """Each sentence as one text."""
        return [" ".join(words) for words in self.sentences]

    @property
    def strata(self) -> list[int]:
        """What samples keep in proportion: of the entity types in a sentence the rarest (from 1), 0 if it has none."""
        types = [{(tag + 1) // 2 for tag in tags if tag} for tags in self.tags]  # B-X and I-X are 2k - 1 and 2k
        frequency = Counter(number for of_sentence in types for number in of_sentence)
        return [min(of_sentence, key=lambda number: (frequency[number], number), default=0) for of_sentence in types]

    def __len__(self) -> int:
        return len(self.sentences)

    def take(self, rows: Iterable[int]) -> TaggedSplit:
        """The given rows, in the given order."""
        rows = [int(row) for row in rows]
        return TaggedSplit([self.sentences[row] for row in rows], [self.tags[row] for row in rows], self.notes)

    def renumbered(self, numbers: Sequence[int]) -> TaggedSplit:
        """The same with the number ``numbers[tag]`` in the place of each tag."""
        return replace(self, tags=[[numbers[tag] for tag in tags] for tags in self.tags])

    def contents(self) -> Iterator[Sequence[object]]:
        """All words and tags, in an order that does not change between versions: fingerprints are made of it."""
        yield ["tagged", len(self)]
        for words, tags in zip(self.sentences, self.tags, strict=True):
            yield words
            yield tags


Split = TypeVar("Split", TextSplit, TaggedSplit)
SplitOf = TypeVar("SplitOf", bound="TextSplit | TaggedSplit", covariant=True)


@dataclass(frozen=True)
class Dataset(Generic[SplitOf]):
    """Three disjoint splits of one set; class or tag ``i`` is called ``label_names[i]``."""

    name: str
    source: str
    """A sentence that says where the texts came from."""
    label_names: list[str]
    train: SplitOf
    validation: SplitOf
    test: SplitOf
    notes: list[str] = field(default_factory=list)
    """Sentences about what was done to the source: carved, sampled, dropped."""
    numbered: bool = False
    """Whether the order of the classes is the source's or the settings', so that a number stands for a class; else it
    is that of the alphabet, and numbers in other data would mean nothing."""
    columns: dict[str, str] = field(default_factory=dict)
    """Columns that were found without a setting or a usual name, by the settings that would name them."""


@dataclass(frozen=True)
class Table:
    """Named columns as a source has them, before it is known which are the texts and which the labels."""

    columns: Columns
    origin: str
    """What messages call it: a file name, or a set and its split."""
    notes: tuple[str, ...] = ()
    """Sentences about what was decided when it was read."""


@dataclass(frozen=True)
class RawSplit:
    """Texts with their labels as the source writes them (names or numbers, all as text)."""

    texts: list[str]
    labels: list[str]
    extra: Columns
    origin: str
    """What messages call this split: a file name, or a set and its split."""
    notes: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    """The column of each part, by the setting that names it."""
    unit: ClassVar[str] = "text"
    parting: ClassVar[str] = ""

    @property
    def strata(self) -> Sequence[str]:
        """What samples keep in proportion: the classes."""
        return self.labels


@dataclass(frozen=True)
class RawTags:
    """Sentences with their tags as the source writes them (of any scheme, or numbers, all as text)."""

    sentences: list[list[str]]
    tags: list[list[str]]
    origin: str
    """What messages call this split: a file name, or a set and its split."""
    notes: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    """The column of each part, by the setting that names it."""


@dataclass(frozen=True)
class Source:
    """A place that holds a data set. Splits are read only when asked for: a source may have some nobody needs."""

    name: str
    description: str
    splits: dict[str, Callable[[], Table]]
    label_names: list[str] | None = None
    """The classes in the order of their numbers, where the source says it."""
    column_labels: Mapping[str, list[str]] = field(default_factory=dict)
    """The same for each column that comes with such names."""
    column_names: Mapping[str, str] = field(default_factory=dict)
    """What the source calls its columns, by the settings that would name them."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Which split plays ``train``, ``validation`` or ``test`` where that is not the split of the same name."""
    notes: list[str] = field(default_factory=list)


def dataset_fingerprint(dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """SHA-256 over names, labels and texts (tags and words), so that a run is never resumed on other data."""
    digest = hashlib.sha256()

    def add(items: Sequence[object]) -> None:
        digest.update(f"{len(items)};".encode())
        for item in items:
            # Surrogates can come in through JSON escapes and must not stop a hash.
            encoded = str(item).encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}:".encode() + encoded)  # the length keeps "ab","c" apart from "a","bc"

    add(dataset.label_names)
    for split in (dataset.train, dataset.validation, dataset.test):
        for items in split.contents():
            add(items)
    return digest.hexdigest()
