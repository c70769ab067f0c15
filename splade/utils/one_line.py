"""Text of others as part of a line: nothing in it ends the line, parts its fields or steers the terminal."""

from __future__ import annotations

import re

# Control characters (line feeds, tabs and escapes among them), the separators of lines and paragraphs, marks that turn
# the direction of writing, and halves of surrogate pairs. Joiners and no-break spaces stay: words are made of them.
UNRULY = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text with a space for each character that would not stay in its place; as long as before."""
    return UNRULY.sub(" ", text)


def one_field(text: str) -> str:
    """The text without white space, as columns parted by it need: an underscore for each, and for an empty text."""
    return re.sub(r"\s", "_", one_line(text)) or "_"
