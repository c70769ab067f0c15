"""Long texts in windows that train as texts of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.data.text_windows import divide_texts
from splade.data.types import TextSplit
from tests.builders import build_model


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_every_window_fits_and_no_word_is_lost(tmp_path: Path, family: str) -> None:
    tokenizer = build_model(tmp_path, family=family).tokenizer
    words = [f"good{number}" for number in range(57)]
    split = TextSplit(["a good film", " ".join(words), ""], [1, 0, 1], {"rationale": [None, [1], None]})
    divided = divide_texts(split, tokenizer, max_length=24)
    assert divided.texts[0] == "a good film" and divided.texts[-1] == "" and len(divided) > 4
    assert divided.labels == [1, *[0] * (len(divided) - 2), 1]
    assert all(len(tokenizer(text)["input_ids"]) <= 24 for text in divided.texts)
    assert set(words) == {word for text in divided.texts[1:-1] for word in text.split()}
    assert divided.extra == {}


def test_texts_that_fit_stay_as_they_are(tmp_path: Path) -> None:
    split = TextSplit(["a good film"], [1], {"rationale": [[0, 1]]})
    assert divide_texts(split, build_model(tmp_path).tokenizer, max_length=24) is split
