"""An explanation laid out for reading, the same in the terminal and in the report: the text cut at its words, and the
rows of a sum that adds up as printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from splade.attribution.explanation import Explanation, TokenScore, WordScore
from splade.utils.arrows import arrow

DECIMALS = 3
"""Decimals of a printed score: enough to tell words apart, few enough to read."""

LONGEST_NAME = 34
"""Characters of a word and the tokens that it spoke through, the strongest that there is room for: a sum's number must
not fall off the line in a terminal of 80."""

UNEXPLAINED_FROM = 5e-4
"""A gap between the sum and the logit that rounding cannot account for gets a row of its own: it is a fault to show."""


@dataclass(frozen=True)
class Segment:
    """A stretch of the text: a word with its score, or what lies between words."""

    text: str
    word: WordScore | None


@dataclass(frozen=True)
class Row:
    """One line of the sum."""

    name: str
    score: float
    """The exact score."""
    printed: str
    """The score as printed: signed, rounded so that the column adds up."""
    source: WordScore | TokenScore | None = None
    """What the row stands for; None for folded rows, the bias and the logit."""


def segments(explanation: Explanation) -> list[Segment]:
    """The text cut at its words. Joined, the segments give the text back, character for character."""
    pieces: list[Segment] = []
    cursor = 0
    for word in explanation.words:
        if word.start < cursor or word.start == word.end:  # the row of no word, or a span that overlaps another
            continue
        if word.start > cursor:
            pieces.append(Segment(explanation.text[cursor : word.start], None))
        pieces.append(Segment(explanation.text[word.start : word.end], word))
        cursor = word.end
    if cursor < len(explanation.text):
        pieces.append(Segment(explanation.text[cursor:], None))
    return pieces


def word_rows(explanation: Explanation, top: int) -> list[Row]:
    """The `top` strongest words in reading order, the others folded into one row, the bias and the logit."""
    strongest = _strongest(explanation.words, top)
    kept = [word for index, word in enumerate(explanation.words) if index in strongest]
    folded = [word for index, word in enumerate(explanation.words) if index not in strongest]
    return _sum_rows(explanation, [(word.word, word) for word in kept], folded, "word")


def token_rows(explanation: Explanation, top: int) -> list[Row]:
    """The `top` strongest vocabulary tokens, the others folded into one row, the bias and the logit."""
    kept, folded = explanation.tokens[:top], explanation.tokens[top:]
    return _sum_rows(explanation, [(arrow(token.offset) + token.token, token) for token in kept], folded, "token")


def tag_rows(explanation: Explanation, top: int) -> list[Row]:
    """The sum behind a tag: over the words of the sentence where several may speak for it, else over tokens."""
    if len(explanation.words) < 2:
        return token_rows(explanation, top)
    words = explanation.words
    strongest = _strongest(words, top)
    kept = sorted((words[index] for index in strongest), key=lambda word: -abs(word.score))
    folded = [word for index, word in enumerate(words) if index not in strongest and word.tokens]
    return _sum_rows(explanation, [(_spoken(word), word) for word in kept], folded, "word")


def _spoken(word: WordScore) -> str:
    """A word of the sentence by where it stands and, unless that is itself alone, what it spoke through."""
    name = arrow(word.offset) + word.word if word.offset else "itself"
    if [token.lower() for token in word.tokens] == [word.word.lower()]:
        return name
    for count in range(len(word.tokens), 0, -1):
        shown = ", ".join([*word.tokens[:count], *(["…"] if count < len(word.tokens) else [])])
        if len(name) + len(shown) + len(" ()") <= LONGEST_NAME:
            return f"{name} ({shown})"
    return f"{name} (…)"


def round_to_sum(numbers: Sequence[float], total: float, decimals: int = DECIMALS) -> list[int]:
    """`numbers` in units of 10^-decimals, rounded so that they add up to the rounded `total`.

    The largest-remainder method: round each to the nearest, then move those by one unit that were closest to going the
    other way, as many as the sum is off. No number moves by a whole unit as long as `total` is their sum.
    """
    scale = 10**decimals
    units = [round(number * scale) for number in numbers]
    off = round(total * scale) - sum(units)
    step = 1 if off > 0 else -1
    # Most in need of the step first: those whose rounding went furthest the other way.
    order = sorted(range(len(numbers)), key=lambda i: step * (units[i] - numbers[i] * scale))
    for turn in range(abs(off) if numbers else 0):
        units[order[turn % len(numbers)]] += step
    return units


def _strongest(words: Sequence[WordScore], top: int) -> set[int]:
    """Which words to show: the `top` largest |score|, and none that says nothing."""
    order = sorted(range(len(words)), key=lambda i: -abs(words[i].score))
    return {i for i in order[:top] if words[i].score != 0.0}


def _sum_rows(
    explanation: Explanation,
    kept: Sequence[tuple[str, WordScore | TokenScore]],
    folded: Sequence[WordScore | TokenScore],
    kind: str,
) -> list[Row]:
    logit = explanation.logits[explanation.target]
    summands: list[tuple[str, float, WordScore | TokenScore | None]] = [(name, one.score, one) for name, one in kept]
    if folded:
        more = f"{len(folded)} {'more ' if kept else ''}{kind}{'s' if len(folded) > 1 else ''}"
        summands.append((more, math.fsum(one.score for one in folded), None))
    gap = logit - explanation.bias - math.fsum(score for _, score, _ in summands)
    if abs(gap) > UNEXPLAINED_FROM:
        summands.append(("not accounted for", gap, None))
    bias = round(explanation.bias * 10**DECIMALS)  # one figure in both tables, so it does not give way to rounding
    units = _rounded([score for _, score, _ in summands], logit - bias / 10**DECIMALS, len(kept) if folded else None)
    rows = [Row(name, score, signed(unit), one) for (name, score, one), unit in zip(summands, units, strict=True)]
    if not rows:
        bias = round(logit * 10**DECIMALS)
    rows.append(Row(explanation.bias_name, explanation.bias, signed(bias)))
    return [*rows, Row(f"logit of {explanation.target}", logit, signed(round(logit * 10**DECIMALS)))]


def _rounded(scores: list[float], total: float, folded: int | None) -> list[int]:
    """`round_to_sum`, but where rows were folded into one (its number), that one takes what rounding leaves over.

    A word and the only token that fired at it then read alike in both tables.
    """
    if folded is None:
        return round_to_sum(scores, total)
    units = [round(score * 10**DECIMALS) for score in scores]
    units[folded] += round(total * 10**DECIMALS) - sum(units)
    return units


def signed(units: int) -> str:
    """A number in units of the last decimal, as printed."""
    return f"{units / 10**DECIMALS:+.{DECIMALS}f}"
