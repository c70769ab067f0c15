"""What people hand over as texts: every container that must be taken, and every value that must not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

Texts = Sequence[Any]


def _series(index: Callable[[Random, int], list[Any]]) -> Callable[[Random, Texts], Any]:
    import pandas

    return lambda rng, texts: pandas.Series(list(texts), index=index(rng, len(texts)), dtype=object)


def _column(rng: Random, texts: Texts) -> Any:
    import datasets

    return datasets.Dataset.from_dict({"text": list(texts)})["text"]


def _object_array(rng: Random, texts: Texts) -> Any:
    array = np.empty(len(texts), dtype=object)
    array[:] = list(texts)
    return array


#: Whatever holds texts in an order: results must be those of a list, and for a Series keep its index.
ACCEPTED: dict[str, Callable[[Random, Texts], Any]] = {
    "list": lambda rng, texts: list(texts),
    "tuple": lambda rng, texts: tuple(texts),
    "Series": _series(lambda rng, n: list(range(n))),
    "shuffled Series": _series(lambda rng, n: rng.sample(range(n), n)),
    "part of a Series": _series(lambda rng, n: sorted(rng.sample(range(1, 3 * n + 1), n))),
    "Series with an index twice": _series(lambda rng, n: [rng.randrange(max(1, n // 2)) for _ in range(n)]),
    "Series with a named index": _series(lambda rng, n: [f"row {row}" for row in range(n)]),
    "numpy array": _object_array,
    "generator": lambda rng, texts: (text for text in list(texts)),
    "iterator": lambda rng, texts: iter(list(texts)),
    "map": lambda rng, texts: map(lambda text: text, list(texts)),
    "datasets column": _column,
}
#: Also taken, of texts that are strings.
ACCEPTED_OF_STRINGS: dict[str, Callable[[Random, Texts], Any]] = {
    "numpy array of strings": lambda rng, texts: np.array(list(texts)),
    "Series of strings": lambda rng, texts: __import__("pandas").Series(list(texts), dtype="string"),
    "categorical Series": lambda rng, texts: __import__("pandas").Series(list(texts)).astype("category"),
}
#: Taken or refused, as long as it is right.
EITHER: dict[str, Callable[[Random, Texts], Any]] = {
    "deque": lambda rng, texts: deque(texts),
    "values of a dict": lambda rng, texts: dict(enumerate(texts)).values(),
    "keys of a dict": lambda rng, texts: dict.fromkeys(texts).keys(),
}


def _spoiled(value: object) -> Callable[[Texts], Any]:
    """The texts with something among them that is none."""
    return lambda texts: [*texts[: len(texts) // 2], value, *texts[len(texts) // 2 :]]


def _frame(texts: Texts) -> Any:
    import pandas

    return pandas.DataFrame({"text": list(texts), "label": 0})


def _series_with_a_gap(texts: Texts) -> Any:
    import pandas

    return pandas.Series([None, *texts])


#: Never texts: each must be refused in a sentence.
REFUSED: dict[str, Callable[[Texts], Any]] = {
    "None": lambda texts: None,
    "a number": lambda texts: 5,
    "a bare string": lambda texts: "good film",
    "bytes": lambda texts: b"good film",
    "a DataFrame": _frame,
    "a dict": lambda texts: dict(enumerate(texts)),
    "a list with None": _spoiled(None),
    "a list with NaN": _spoiled(float("nan")),
    "a list with a number": _spoiled(5),
    "a list with bytes": _spoiled(b"good"),
    "a list with a dict": _spoiled({"text": "good"}),
    "numbers": lambda texts: [1, 2, 3],
    "an array of numbers": lambda texts: np.arange(4),
    "an array of two dimensions": lambda texts: np.array([["a", "b"], ["c", "d"]], dtype=object)[:, :, None],
    "an array of no dimension": lambda texts: np.array("good film"),
    "a Series with a gap": _series_with_a_gap,
    "an object": lambda texts: object(),
    "a function": lambda texts: len,
    "a flag": lambda texts: True,
}
