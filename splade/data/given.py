"""Texts, words and labels as people have them in Python, made into checked lists: the one place where they come in.

A collection is whatever gives its items in order: a list, a tuple, a pandas Series or Index, a numpy array of one
dimension, a column of a ``datasets`` set, a polars or pyarrow column, a generator. Its items are taken by their place,
never by a label. No library is imported for this: what a value is, its type says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import Any, Generic, Protocol, TypeVar

from splade.data.encoding import clean_text
from splade.errors import ConfigError, DataError, listed, nearest

Sentence = str | Sequence[str]
"""What a tagger reads as one text: a string, or its words."""

BATCH_SIZE = 32
"""Texts read at a time unless a caller says otherwise."""

TABLES = {
    "pandas": {"DataFrame"},
    "polars": {"DataFrame", "LazyFrame"},
    "pyarrow": {"Table", "RecordBatch"},
    "datasets": {"Dataset", "IterableDataset"},
}
MISSING = {"pandas": {"NAType", "NaTType"}, "numpy": {"MaskedConstant"}}
SERIES = {"pandas": {"Series"}}
COLUMNS_OF_WORDS = {"pandas": {"Series", "Index"}, "numpy": {"ndarray"}, "polars": {"Series"}}
SCALARS = {"numpy": {"generic"}, "torch": {"Tensor"}}

SHOWN = 40  # characters of a value in a message

Item = TypeVar("Item")


class Series(Protocol):
    """A pandas Series, by what no other collection has."""

    index: Any
    iloc: Any


@dataclass(frozen=True)
class Given(Generic[Item]):
    """The items of a collection, in its order."""

    items: list[Item]
    index: Any = None
    """Of the pandas Series that held them; None: of anything else."""

    def answers(self, answers: Sequence[object]) -> Any:
        """The answer to each item: a list, or a Series with the index of the one that was given."""
        if self.index is None:
            return list(answers)
        import pandas  # which is there: the index is its own

        return pandas.Series(list(answers), index=self.index, dtype=object)


def given_texts(texts: object) -> Given[str]:
    """Texts to classify."""
    items = _items(texts, "text")
    return Given([_text(item, partial(_place, texts, n)) for n, item in enumerate(items)], _index(texts))


def given_sentences(texts: object) -> Given[str | list[str]]:
    """Texts to tag, each a string or a list of words."""
    items = _items(texts, "text")
    return Given([_sentence(item, partial(_place, texts, n)) for n, item in enumerate(items)], _index(texts))


def one_text(text: object, many: str) -> str:
    """Exactly one text; ``many`` is the function for several."""
    if isinstance(text, str):
        return clean_text(_plain(text))
    raise DataError(f"One text, a string, was expected, but {_found(text)} was given; give several texts to {many}.")


def one_sentence(text: object, many: str) -> str | list[str]:
    """Exactly one text to tag; a list of texts, which would pass for a list of words, is refused."""
    try:
        sentence = _sentence(text)
    except DataError as error:
        raise DataError(f"{error} Several texts go to {many}.") from None
    spaced = [word for word in sentence if len(word.split()) > 1] if isinstance(sentence, list) else []
    if spaced:
        raise DataError(
            f"One text was expected, a string or a list of words, but '{spaced[0]:.{SHOWN}}' of the list has spaces; "
            f"give several texts to {many}."
        )
    return sentence


def given_labels(labels: object, texts: Given[str], names: Sequence[str], *, numbered: bool) -> list[int]:
    """The class number of each text's label, which is paired with it by its place.

    A label is a class name. A number is that name written as a number or, where no class is called so, a class number;
    that only where the model knows its classes by number (``numbered``). Two Series must have one index, since pandas
    itself would pair them by it.
    """
    items = _items(labels, "label")
    if len(items) != len(texts.items):
        raise DataError(f"There are {len(texts.items)} texts but {len(items)} labels; give each text one label.")
    index_ = _index(labels)
    if index_ is not None and texts.index is not None and not index_.equals(texts.index):
        raise DataError(
            "The Series of labels has another index than the Series of texts, so that it is unclear which belong "
            "together; give labels.loc[texts.index], or labels.to_numpy() if their order is the same."
        )
    return [_class(item, partial(_place, labels, n), names, numbered) for n, item in enumerate(items)]


def whole_number(value: object, name: str, least: int) -> int:
    """The value of an argument that must be a whole number, numpy's among them."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least:
        raise ConfigError(f"{name} is {_shown(value)}, but a whole number from {least} on was expected; give one.")
    return number


def _items(values: object, unit: str) -> list[object]:
    """What a collection holds, in its order."""
    wanted = f"a list of {unit}s was expected"
    if isinstance(values, str):  # which is a sequence of texts too, of one character each
        raise DataError(f"One {unit} was given where {wanted}; put it in a list.")
    if isinstance(values, bytes | bytearray | memoryview):
        raise DataError(f"Bytes were given where {wanted}; decode them, and put what they say in a list.")
    if _is_a(values, TABLES):
        named = getattr(values, "column_names", None)  # of pandas it is `columns`
        columns = [str(column) for column in (getattr(values, "columns", ()) if named is None else named)]
        raise DataError(
            f"A {type(values).__name__} was given where {wanted}; choose one of its columns"
            f"{f' ({listed(columns)})' if columns else ''}."
        )
    if isinstance(values, Mapping):
        raise DataError(f"A {type(values).__name__} was given where {wanted}; give a list, such as of its values().")
    if isinstance(values, set | frozenset):
        raise DataError(f"A {type(values).__name__}, which has no order, was given where {wanted}; make it a list.")
    shape = getattr(values, "shape", (0,))
    if isinstance(shape, tuple) and len(shape) != 1:
        raise DataError(f"An array of shape {tuple(shape)} was given where {wanted}; give it one dimension.")
    if hasattr(values, "to_pylist"):  # pyarrow's items are no Python values
        return list(values.to_pylist())
    try:
        items = iter(values)  # type: ignore[call-overload]
    except TypeError:
        raise DataError(f"{_shown(values)} was given where {wanted}; give a list.") from None
    return list(items)


def _text(value: object, place: Callable[[], str]) -> str:
    if isinstance(value, str):
        return clean_text(_plain(value))
    if _is_missing(value):
        raise DataError(f"The text {place()} is missing ({_shown(value)}); leave it out, or give '' for it.")
    if isinstance(value, bytes | bytearray):
        raise DataError(f"The text {place()} is bytes ({_shown(value)}), where a string was expected; decode it.")
    raise DataError(f"The text {place()} is {_found(value)}, where a string was expected; correct or leave it out.")


def _sentence(value: object, place: Callable[[], str] = lambda: "given") -> str | list[str]:
    if isinstance(value, str):
        return clean_text(_plain(value))
    words = isinstance(value, list | tuple) or _is_a(value, COLUMNS_OF_WORDS)
    if not words or len(getattr(value, "shape", (0,))) != 1:
        found = f"missing ({_shown(value)})" if _is_missing(value) else _found(value)
        raise DataError(
            f"A text is a string or a list of words, but the one {place()} is {found}; correct or leave it out."
        )
    found_words = list(value)  # type: ignore[call-overload]
    for number, word in enumerate(found_words):
        if not isinstance(word, str):
            raise DataError(
                f"A text is a string or a list of words, but word {number} of the one {place()} is {_found(word)}; "
                "correct it."
            )
    if len(found_words) > 1 and all(len(word.split()) > 1 for word in found_words):
        raise DataError(
            f"A text is a string or a list of words, but all words of the one {place()} have spaces "
            f"('{found_words[0]:.{SHOWN}}'), as texts have; give texts in one list, not in a list of lists."
        )
    return [clean_text(_plain(word)) for word in found_words]


def _class(value: object, place: Callable[[], str], names: Sequence[str], numbered: bool) -> int:
    if _is_a(value, SCALARS):
        value = value.item()  # type: ignore[attr-defined]
    if _is_missing(value):
        raise DataError(f"The label {place()} is missing ({_shown(value)}); leave the text out, or give its label.")
    called_by_number = any(name.lstrip("-").isdecimal() for name in names)
    if isinstance(value, bool):  # data has true and false as names, in the way of JSON
        called = [name for name in (str(value).lower(), str(value)) if name in names]
        value = called[0] if called else value
    elif isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        if not called_by_number and not numbered:
            raise DataError(
                f"The label {place()} is the number {value}, but the model knows its labels by name ({listed(names)}), "
                "and nothing says which number stands for which; give names."
            )
        value = str(int(value)) if called_by_number else names[int(value)] if 0 <= value < len(names) else value
    if isinstance(value, str):
        value = next((name for name in (value, value.strip()) if name in names), value)
    if not isinstance(value, str) or value not in names:
        raise DataError(
            f"The model has no label '{value!s:.{SHOWN}}' (which stands {place()}); its labels are: {listed(names)}."
            f"{nearest(str(value), names)}"
        )
    return list(names).index(value)


def _is_a(value: object, kinds: Mapping[str, set[str]]) -> bool:
    """Whether a value is of a class, by the library it comes from and its name, or of one made from it."""
    return any(kind.__name__ in kinds.get(kind.__module__.partition(".")[0], ()) for kind in type(value).__mro__)


def _is_missing(value: object) -> bool:
    return value is None or _is_a(value, MISSING) or (isinstance(value, float) and value != value)


def _index(values: object) -> Any:
    return values.index if _is_a(values, SERIES) else None  # type: ignore[attr-defined]


def _place(values: object, number: int) -> str:
    """Where an item stands, also as a Series calls it."""
    index_ = _index(values)
    return f"at position {number} (counted from 0{'' if index_ is None else f', index {_shown(index_[number])}'})"


def _plain(text: str) -> str:
    """Without what a subclass of str, such as numpy's, adds to it."""
    return str.__str__(text)


def _found(value: object) -> str:
    return f"{_shown(value)} ({type(value).__name__})"


def _shown(value: object) -> str:
    """A value on one line, short."""
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
