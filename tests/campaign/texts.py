"""Texts and labels as people have them, and as nobody expects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.builders import NOUNS, POSITIVE, toy_reviews

#: What a text may hold, by name.
KINDS: dict[str, Callable[[Random], str]] = {
    "review": lambda rng: toy_reviews(2, rng.randrange(10_000))[0][0],
    "line breaks": lambda rng: rng.choice(["\n", "\r\n", "\n\n", "\r"]).join(["good", rng.choice(NOUNS)]),
    "quotes": lambda rng: rng.choice(['she said "good"', '""', '"', "it's \"bad", 'a 5" screen', '"quoted"', "''"]),
    "delimiters": lambda rng: rng.choice(["good, bad; fine", "a\tb", "x|y", ";;;", ",", "good,", ",bad", "\tgood"]),
    "unicode": lambda rng: "".join(chr(_scalar(rng)) for _ in range(rng.randint(1, 30))),
    "right to left": lambda rng: rng.choice(["فيلم جيد", "סרט טוב", "a \u202egood\u202c film", "\u200fgood"]),
    "emoji": lambda rng: rng.choice(["👍🏽 good", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "☠️ bad", "e\u0301 \u0928\u093f"]),
    "control": lambda rng: f"good\x0bfilm\x0c\x1c\x85\u2028{rng.choice(NOUNS)}\x07\x1b[31m",
    "nul": lambda rng: f"good\x00{rng.choice(NOUNS)}",
    "empty": lambda rng: "",
    "spaces": lambda rng: rng.choice([" ", "  good  ", "\u00a0", "\u3000good\u3000", "\ufeffgood"]),
    "looks missing": lambda rng: rng.choice(["nan", "NaN", "None", "null", "NA", "N/A", "-", "?"]),
    "looks like a number": lambda rng: rng.choice(["1", "1.0", "1e5", "007", "-3", "1,5", "inf", "true"]),
    "looks like code": lambda rng: rng.choice(
        ["=1+1", "# good", '{"a": 1}', "[1, 2]", "<b>good</b>", "%s {} \\n", "--help"]
    ),
    "long": lambda rng: f"{rng.choice(POSITIVE)} " * rng.choice([500, 5_000, 20_000]),
    "long word": lambda rng: rng.choice("aé漢") * rng.choice([200, 20_000]),
}
WESTERN = [  # that Latin-1 and cp1252 can write, and UTF-8 writes otherwise
    "café crème",
    "naïve façade",
    "Größe",
    "señor",
    "très bon film",
    "déjà vu, encore",
    "Ærø",
    "¡bueno!",
    "£5 für 2",
]


def _scalar(rng: Random) -> int:
    """A code point of any plane that is no surrogate."""
    low, high = rng.choice(
        [(0x20, 0x7F), (0xA0, 0x2FF), (0x370, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]
    )
    return rng.randint(low, high)


def odd_texts(rng: Random, count: int, kinds: Sequence[str] = tuple(KINDS)) -> list[str]:
    """Some texts, reviews and odd ones mixed; two odd kinds at most, so that a failure names its cause."""
    chosen = ["review", *rng.sample(list(kinds), 2)]
    return [KINDS[rng.choice(chosen)](rng) for _ in range(count)]


LABEL_KINDS: dict[str, list[object]] = {
    "names": ["negative", "positive"],
    "four names": ["joy", "anger", "fear", "love"],
    "names with spaces": ["very good", "rather bad"],
    "names of other scripts": ["хорошо", "плохо", "良い"],
    "names with delimiters": ["a,b", "c;d", 'e"f'],
    "numbers": [0, 1, 2],
    "numbers from 1": [1, 2, 3, 4, 5],
    "negative numbers": [-1, 0, 1],
    "truth": [True, False],
    "yes and no": ["yes", "no"],
    "digits as text": ["0", "1"],
    "case": ["Positive", "positive", "POSITIVE"],
    "numbers and names": ["1", "two"],
    "twelve": [f"class {number}" for number in range(12)],
    "sparse numbers": [3, 17, 404],
    "large numbers": [10**12, 10**15],
    "zeros first": ["01", "02", "1"],
}


def labels_of(rng: Random, kind: str, count: int) -> list[object]:
    """`count` labels of a kind, each class at least twice if there is room."""
    names = LABEL_KINDS[kind]
    labels = [names[row % len(names)] for row in range(count)]
    rng.shuffle(labels)
    return labels
