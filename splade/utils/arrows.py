"""Where a word stands from another, in arrows."""

from __future__ import annotations

MOST_ARROWS = 3
"""Words away that arrows are drawn for, one a word; beyond, a number says it."""


def arrow(offset: int) -> str:
    """A prefix for what stands `offset` words to the right: nothing for 0, ``→ `` for the next word, ``←← `` for the
    last but one."""
    if offset == 0:
        return ""
    sign, distance = "→" if offset > 0 else "←", abs(offset)
    return f"{sign * distance} " if distance <= MOST_ARROWS else f"{sign}{distance} "
