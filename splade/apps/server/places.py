"""Places in a text as JavaScript counts them: in UTF-16 code units, of which a character beyond U+FFFF has two."""

from __future__ import annotations

import re
from bisect import bisect_left

_OF_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


class Places:
    """The places of one text."""

    def __init__(self, text: str):
        self._of_two = [] if text.isascii() else [found.start() for found in _OF_TWO_UNITS.finditer(text)]

    def utf16(self, place: int) -> int:
        """A place counted in code points, in UTF-16 code units."""
        return place + bisect_left(self._of_two, place)

    def span(self, start: int, end: int) -> dict[str, int]:
        """A span, in both."""
        return {"start": start, "end": end, "utf16_start": self.utf16(start), "utf16_end": self.utf16(end)}
