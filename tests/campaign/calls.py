"""Calls from Python: whatever holds the texts, the answers are those to a plain list of them, in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas

from splade import explain_batch, explain_tags_batch, predict_batch, tag_batch
from tests.campaign.case import Trial
from tests.campaign.containers import ACCEPTED, ACCEPTED_OF_STRINGS, EITHER, REFUSED
from tests.campaign.odd_calls import draw_odd_call
from tests.campaign.texts import odd_texts
from tests.campaign.verdicts import expect, must_accept, must_refuse
from tests.campaign.workshop import CLASSIFIERS, TAGGER, Workshop, load, reviews, sentences

Batch = Callable[..., Sequence[Any]]
BATCHES: dict[str, Batch] = {
    "predict_batch": predict_batch,
    "explain_batch": explain_batch,
    "tag_batch": tag_batch,
    "explain_tags_batch": explain_tags_batch,
}
SIZES = [1, 2, 3, 7, 32, 10**9, np.int64(4)]
NO_SIZES = [0, -1, -32, 1.5, "8", None, float("nan"), [4], np.float64(2.5)]
CLOSE = 1e-4  # batches of another size are padded otherwise, and float32 sums in another order


def draw(rng: Random, workshop: Workshop) -> Trial:
    """One of the four functions of many texts with some container, mostly; else some other function, oddly called."""
    if rng.random() < 0.4:
        return draw_odd_call(rng, workshop)
    name = rng.choice(list(BATCHES))
    tags = "tag" in name
    folder = workshop.model(TAGGER if tags else rng.choice(list(CLASSIFIERS)))
    as_words = tags and rng.random() < 0.3
    texts: list[Any] = sentences(rng.randint(2, 12), rng.randrange(10_000)) if as_words else _texts(rng, tags)
    kinds = {**ACCEPTED, **({} if as_words else ACCEPTED_OF_STRINGS | EITHER)}
    kind = rng.choice([*kinds, *REFUSED])
    if kind in REFUSED:
        given = REFUSED[kind](texts)
        return Trial(f"{name} of {kind}", lambda _: must_refuse(lambda: BATCHES[name](load(folder), given), kind))
    if rng.random() < 0.15:
        size = rng.choice(NO_SIZES)
        what = f"batch_size={size!r}"
        return Trial(
            f"{name}, {what}", lambda _: must_refuse(lambda: BATCHES[name](load(folder), texts, batch_size=size), what)
        )
    options = {"batch_size": rng.choice(SIZES)} if rng.random() < 0.4 else {}
    given = kinds[kind](rng, texts)
    if kind == "keys of a dict":
        texts = list(dict.fromkeys(texts))

    def check(_: Path) -> None:
        compare(BATCHES[name](load(folder), given, **options), BATCHES[name](load(folder), list(texts)), given)

    description = f"{name} of {folder.parent.name}, {len(texts)} texts in a {kind} {options or ''}"
    return Trial(description, check if kind in EITHER else lambda _: must_accept(lambda: check(_), kind))


def _texts(rng: Random, tags: bool) -> list[str]:
    """Toy texts, whose order shows in the answers, and now and then odd ones."""
    count = rng.randint(0, 12)
    if rng.random() < 0.4:
        return [text.replace("\0", "") for text in odd_texts(rng, count)]  # numpy's strings end at a NUL
    seed = rng.randrange(10_000)
    return [" ".join(words) for words in sentences(count, seed)] if tags else reviews(count, seed)


def compare(found: Any, expected: Sequence[Any], given: Any) -> None:
    """The same answers in the same order; to a Series, under its index."""
    if isinstance(given, pandas.Series):
        kept = isinstance(found, pandas.Series) and list(found.index) == list(given.index)
        expect(kept, f"the index of a Series is not kept: a {type(found).__name__} came back")
    found = list(found)
    expect(len(found) == len(expected), f"{len(expected)} texts, {len(found)} answers")
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        expect(alike(to_plain(one), to_plain(other)), f"row {row}: {_short(one)} instead of {_short(other)}")


def to_plain(answer: Any) -> Any:
    """An answer as plain values."""
    return answer.to_json() if hasattr(answer, "to_json") else vars(answer)


def alike(one: Any, other: Any) -> bool:
    """Equal, numbers nearly so."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def _short(answer: Any) -> str:
    plain = to_plain(answer)
    return f"{plain.get('label', '')} of {str(plain.get('text', plain))[:40]!r}"
