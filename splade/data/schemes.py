"""Ways to write which words an entity spans (IOB1, IOB2, BIOES, BILOU): told apart, checked, rewritten as IOB2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

OUTSIDE = "O"
# The letter says which word of the entity it is: B first, I further, E or L last, S or U the only one.
TAG = re.compile(r"([BIELSU])-(.+)")
ENDS, SINGLES = "EL", "SU"

Tag = tuple[str, str]  # letter and type; O has no type


def split_tag(tag: str) -> Tag | None:
    """``("B", "PER")`` of ``B-PER``, ``("O", "")`` of ``O``, and ``None`` of what belongs to no scheme."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    match = TAG.fullmatch(tag)
    return (match[1], match[2]) if match else None


def iob2_names(tags: Iterable[Tag]) -> list[str]:
    """O, then B-X and I-X for every type X, sorted."""
    types = sorted({kind for _, kind in tags if kind})
    return [OUTSIDE, *(f"{letter}-{kind}" for kind in types for letter in "BI")]


def _continues(before: Tag, tag: Tag) -> bool:
    return before[0] in "BI" and before[1] == tag[1]


def _iob1(before: Tag, tag: Tag) -> bool:
    """I everywhere, B only where an entity of the same type stands directly before."""
    return tag[0] in "OI" or (tag[0] == "B" and _continues(before, tag))


def _iob2(before: Tag, tag: Tag) -> bool:
    """Every entity starts with B."""
    return tag[0] in "OB" or (tag[0] == "I" and _continues(before, tag))


def _closed(end: str, single: str) -> Callable[[Tag, Tag], bool]:
    """Every entity of several words starts with B and ends with ``end``; one of a single word is ``single``."""

    def legal(before: Tag, tag: Tag) -> bool:
        if before[0] in "BI":
            return tag[0] in ("I", end) and before[1] == tag[1]
        return tag[0] in ("O", "B", single)

    return legal


# May the second tag follow the first? Of equally good schemes the first listed is taken.
SCHEMES: dict[str, Callable[[Tag, Tag], bool]] = {
    "IOB2": _iob2,
    "IOB1": _iob1,
    "BIOES": _closed("E", "S"),
    "BILOU": _closed("L", "U"),
}


def find_scheme(sentences: Iterable[Sequence[Tag]]) -> str:
    """The scheme that the fewest tags break."""
    pairs = Counter(pair for tags in sentences for pair in _pairs(tags))

    def broken(scheme: str) -> int:
        return sum(count for pair, count in pairs.items() if not SCHEMES[scheme](*pair))

    return min(SCHEMES, key=broken)


def breaks(tags: Sequence[Tag], scheme: str) -> list[int]:
    """Numbers of the words whose tag may not follow the one before; the number of words, if the end may not."""
    return [place for place, pair in enumerate(_pairs(tags)) if not SCHEMES[scheme](*pair)]


def _pairs(tags: Sequence[Tag]) -> Iterable[tuple[Tag, Tag]]:
    outside = (OUTSIDE, "")
    return pairwise([outside, *tags, outside])


def to_iob2(tags: Sequence[Tag]) -> list[str]:
    """Rewrite a sentence's tags of any scheme; what breaks the scheme is read as conlleval reads it.

    A word continues the entity before it if that has the same type and is not closed (by E, S, L or U); else it starts
    one. For tags that keep to their scheme this is what they say.
    """
    rewritten = []
    open_type = ""
    for letter, kind in tags:
        if letter == OUTSIDE:
            rewritten.append(OUTSIDE)
        else:
            further = letter not in f"B{SINGLES}" and kind == open_type
            rewritten.append(f"{'I' if further else 'B'}-{kind}")
        open_type = "" if letter in f"{ENDS}{SINGLES}" else kind
    return rewritten
