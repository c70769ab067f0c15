"""Plain text split into words as CoNLL is."""

from __future__ import annotations

import pytest

from splade.attribution.conll_words import conll_word_spans


def words(text: str) -> str:
    return " ".join(text[start:end] for start, end in conll_word_spans(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. team left AL-AIN, U.A.E.", "The U.S. team left AL-AIN , U.A.E."),
        ("They didn't, he can’t; China's", "They did n't , he ca n’t ; China 's"),
        ("Mr. O'Brien vs. J. Smith Inc.", "Mr. O'Brien vs. J. Smith Inc ."),
        ("paid $1,000 (US$5.50) at 6-4 on 08/26/96", "paid $ 1,000 ( US$ 5.50 ) at 6-4 on 08/26/96"),
        ('U.S.-led talks -- "yes"... S&P 500', 'U.S.-led talks -- " yes " ... S&P 500'),
        ("see http://x.org/a?b. @bob #rain", "see http://x.org/a?b . @bob #rain"),
        ("mail bob.k@example.com, or a@b.", "mail bob.k@example.com , or a @ b ."),
        ("vitamin C. No. 5, and no. Then", "vitamin C. No. 5 , and no . Then"),
        ("वह दिल्ली गया। café 東京", "वह दिल्ली गया । café 東京"),
        ("AC/DC players' end", "AC / DC players ' end"),
    ],
)
def test_splits_as_conll(text: str, expected: str) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Angela\u200bMerkel\u200b, \u200b!", ["Angela", "Merkel", ",", "!"]),  # a zero-width space parts words
        ("Mer\u00adkel\u2060s \ufeffBon\ufeffn.", ["Mer\u00adkel\u2060s", "Bon\ufeffn", "."]),
        ("\ufeff\u2060 می\u200cروم 🙂\u200d🙂", ["می\u200cروم", "🙂\u200d", "🙂"]),
        ("\u200b\u200e \ufeff", []),
    ],
)
def test_what_is_invisible_is_no_word(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in conll_word_spans(text)] == expected


def test_nothing_but_white_space_lies_between_words() -> None:
    text = "a\tb\u00a0(\x00)…  e\u0301t\u00e9 🙂\u200d🙂 n't's--.’’\n\n1,2,x"
    left, before = list(text), 0
    for start, end in conll_word_spans(text):
        assert before <= start < end
        left[start:end], before = " " * (end - start), end
    assert not "".join(left).strip()


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_text_without_words(text: str) -> None:
    assert conll_word_spans(text) == []
