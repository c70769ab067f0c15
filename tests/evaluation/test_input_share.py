"""Do contributions stand on words that are there: sums made by hand."""

from __future__ import annotations

from dataclasses import replace

import torch

from splade.evaluation.input_share import size_on_input
from tests.evaluation.builders import TOKENIZER, attribution, token


def on_input(texts: list[str], *rows: dict[str, float]) -> tuple[float, float]:
    """What of contributions, a row a text, is on words of the text; and all of it."""
    ids = TOKENIZER(texts, padding=True, return_tensors="pt")["input_ids"]
    return size_on_input(ids, torch.arange(len(texts))[:, None].expand_as(ids), attribution(*rows))


def test_counts_the_size_of_what_stands_in_the_text() -> None:
    assert on_input(["a good film"], {"good": 2.0, "film": -1.0, "charming": 5.0}) == (3.0, 8.0)


def test_a_word_of_another_text_is_not_in_this_one() -> None:
    assert on_input(["a good film", "bad"], {"bad": 1.0}, {"bad": 4.0, "good": 2.0}) == (4.0, 7.0)


def test_a_word_at_a_position_of_no_row_does_not_count() -> None:
    """A tagger's rows are words; the position of `film` is in none."""
    ids = TOKENIZER(["good film"], return_tensors="pt")["input_ids"]  # [CLS] good film [SEP]
    rows = torch.tensor([[-1, 0, -1, -1]])
    assert size_on_input(ids, rows, attribution({"good": 2.0, "film": 3.0})) == (2.0, 5.0)


def test_where_it_fired() -> None:
    """Where words speak for others, a token must stand where it fired; by hand, entry n fired at position n."""
    ids = TOKENIZER(["good film"], return_tensors="pt")["input_ids"]
    rows = attribution({}, {"film": 1.0, "good": 3.0, "bad": 5.0})
    places = {token(word): place for place, word in enumerate(("[CLS]", "good", "film", "[SEP]"))}
    fired = [places.get(each, 3) for each in rows.token.tolist()]
    assert size_on_input(ids, None, replace(rows, position=torch.tensor(fired))) == (4.0, 9.0)
    assert size_on_input(ids, None, replace(rows, position=torch.tensor([1, 1, 1]))) == (3.0, 9.0)


def test_of_nothing_is_nothing() -> None:
    assert on_input(["good"], {}) == (0.0, 0.0)
