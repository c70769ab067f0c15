"""From a matplotlib drawing to an SVG string that stands on its own inside a page.

Drawn with matplotlib's object interface (no global state, no display), then made fit for inlining: ids get the figure's
name as a prefix so that two figures of a page cannot share one, text stays text, lines and letters that should follow
the page's colour do, and nothing refers outside.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH, HEIGHT = 4.6, 2.9
"""Inches. Small, so that letters stay readable when a phone shows the figure at its own width."""

INK = "#010203"
"""Stands for the page's text colour while drawing, and is replaced by `currentColor` afterwards."""

BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#3b82f6", "#ea8a1d", "#2f9e6e", "#9467bd", "#dc4b4b", "#8a8f98"
"""Middle tones that stand out on white and on black alike."""

STYLE: dict[Any, Any] = {  # matplotlib types its settings as a literal of every name there is
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    **{f"{part}.color": INK for part in ("text", "xtick", "ytick")},
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
}


def draw_svg(name: str, title: str, draw: Callable[[Axes], None]) -> str:
    """What `draw` puts on the axes, as an SVG whose ids start with `name` and which a screen reader calls `title`."""
    # The salt makes the ids, and with them the whole file, the same in every run.
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        draw(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue(), name, title)


def _inline(svg: str, name: str, title: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = body.replace(INK, "currentColor")
    # Without a fixed size the figure takes the width the page gives it; the viewBox keeps its proportions.
    body = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1).strip()
