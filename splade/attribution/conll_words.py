"""Plain text split into words as the CoNLL sets are, which is what a tagger has learnt to read."""

from __future__ import annotations

import re
import unicodedata

from splade.attribution.span_aggregation import MARK, with_marks

ABBREVIATIONS = (
    "Mr|Mrs|Ms|Dr|Prof|St|Sen|Rep|Gov|Gen|Lt|Col|Capt|Sgt|Rev|Jr|Sr|Inc|Corp|Co|Ltd|Bros|vs|"
    "Jan|Feb|Apr|Aug|Sept|Oct|Nov|Dec"
)
"""Keep their point where text follows; at the end of a text the point is a full stop."""

ZERO_WIDTH_SPACE = "\u200b"

_PART = rf"\w[\w{MARK}]*"
_ENDING = r"['’](?:s|re|ve|ll|d|m)(?!\w)"
_NOT = r"n['’]t(?!\w)"

_WORD = re.compile(
    "|".join(
        [
            r"(?:https?://|www\.)\S*[\w/]",
            r"[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+",  # bob@example.com
            r"(?<!\w)[@#]\w+",
            rf"(?:[^\W\d_]\.){{2,}}(?:-{_PART})*",  # U.S., a.m., U.S.-led
            r"[A-Z]\.(?=\s+\S)",  # the J. of J. Smith
            rf"(?:{ABBREVIATIONS})\.(?=\s+\S)|No\.(?=\s+\d)",
            rf"(?i:{_NOT}|{_ENDING})",
            rf"(?i:\w+?(?={_NOT}))",
            r"[A-Z]{1,3}\$",  # US$
            rf"{_PART}(?:(?:[-&.]|(?i:(?!{_ENDING})['’])|(?<=\d)[,:/](?=\d)){_PART})*",
            r"\.{2,}|-{2,}",
            rf"[^\w\s]{MARK}*",
        ]
    )
)


def conll_word_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of the words of a text, in order; all that lies between them is white space or invisible.

    Punctuation stands apart, as do the endings of contractions ("do n't", "China 's"). A word keeps its inner hyphens,
    points, apostrophes and ampersands ("AL-AIN", "O'Brien", "S&P"), a number its separators ("1,000", "6-4"), an
    abbreviation its points ("U.S.", and where text follows "Mr.", "J."). Addresses, @names and #tags are one word.
    """
    return [match.span() for match in _WORD.finditer(_with_formats(with_marks(text)))]


def _with_formats(text: str) -> str:
    """The text with `MARK` for invisible characters (joiners, soft hyphens, byte-order marks), which go with the word
    before them; a space for those that no word stands before, and for the zero-width space, which parts words."""
    if text.isascii():
        return text
    shown: list[str] = []
    for char in text:
        hidden = unicodedata.category(char) == "Cf"
        alone = char == ZERO_WIDTH_SPACE or not shown or shown[-1].isspace()
        shown.append((" " if alone else MARK) if hidden else char)
    return "".join(shown)
