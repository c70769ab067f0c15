"""The report's figures, one function each; None when there is nothing to draw."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from splade.evaluation.figure import Bars, Content, Curves, Histogram, Scatter, is_number
from splade.reporting.svg import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, draw_svg

MAX_POINTS = 400
"""Points a curve keeps. More cannot be seen at this size and would make the page heavy."""

DOT, DOT_OPACITY = 14, 0.75
"""Area in square points, and opacity, of a dot: one alone must be seen on a phone, on white and on black."""

LOSS_TERMS = {
    "ce": ("cross-entropy", BLUE),
    "completeness": ("completeness", ORANGE),
    "separation": ("separation", GREEN),
    "sparsity": ("sparsity", PURPLE),
    "sharpness": ("sharpness", INK),
    "frequency": ("frequency", RED),
    "guide": ("guide", GREY),
    "anchor": ("anchor", INK),
}

History = Sequence[Mapping[str, Any]]
"""Rows of metrics.jsonl: training rows, and validation rows that have a `validation` object."""


def loss_terms(history: History) -> str | None:
    """Every term of the loss against the step, on a logarithmic axis because they differ in size."""

    def draw(axes: Axes) -> None:
        for key, (name, colour) in LOSS_TERMS.items():
            points = [(step, value) for step, value in curve(history, key) if value > 0]
            _line(axes, points, name, colour)
        axes.set_yscale("log")
        _mark_phase(axes, history)

    return _over_steps("losses", "Loss terms over training", draw, history, LOSS_TERMS)


def constraint(history: History) -> str | None:
    """Cross-entropy against τ: the circuit phase may do what it likes as long as the first stays below the second."""

    def draw(axes: Axes) -> None:
        _line(axes, curve(history, "ce"), "cross-entropy", BLUE)
        _line(axes, curve(history, "tau"), "limit τ", RED, linestyle="--")
        _dots(axes, validation_curve(history, "ce"), "validation", INK)
        _mark_phase(axes, history)

    return _over_steps("constraint", "Cross-entropy against its limit", draw, history, ["ce", "tau"])


def multiplier(history: History) -> str | None:
    """λ, the price of breaking the constraint."""

    def draw(axes: Axes) -> None:
        _line(axes, curve(history, "lambda"), "λ", PURPLE)
        axes.set_yscale("log")
        _mark_phase(axes, history)

    return _over_steps("multiplier", "The multiplier λ over training", draw, history, ["lambda"])


def active_tokens(history: History, target: float | None = None, row: str = "text") -> str | None:
    """Active tokens a text (word) against the target."""

    def draw(axes: Axes) -> None:
        _line(axes, curve(history, "active"), f"active tokens a {row}", BLUE)
        _dots(axes, validation_curve(history, "active"), "validation", INK)
        if target is not None:
            axes.axhline(target, color=RED, linestyle="--", linewidth=1, label=f"target {target:g}")
        _mark_phase(axes, history)
        axes.set_ylim(bottom=0)

    return _over_steps("active", "Active tokens over training", draw, history, ["active"])


def validation_score(history: History, key: str, name: str) -> str | None:
    """The figure that checkpoints are ranked by, on the validation split each time it was measured."""
    points = validation_curve(history, key)
    if len(points) < 2:
        return None

    def draw(axes: Axes) -> None:
        _line(axes, [(step, 100 * value) for step, value in points], f"{name} (%)", GREEN, marker="o", markersize=3)
        _mark_phase(axes, history)
        axes.set_xlabel("step")
        axes.legend(fontsize=8)

    return draw_svg("validation", f"{name} on the validation split over training", draw)


def draw(name: str, title: str, content: Content) -> str:
    """The drawing of a measure's results."""
    drawn = {Bars: _bars, Curves: _curves, Histogram: _histogram, Scatter: _scatter}
    return draw_svg(name, title, drawn[type(content)](content))  # type: ignore[operator]


def _scatter(content: Scatter) -> Callable[[Axes], None]:
    def draw_dots(axes: Axes) -> None:
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.axvline(0, color=GREY, linewidth=0.6)
        if content.diagonal and content.dots:
            ends = [end(number for dot in content.dots for number in dot) for end in (min, max)]
            axes.plot(ends, ends, color=ORANGE, linestyle="--", linewidth=1.2, label=content.diagonal)
            axes.legend(fontsize=8)
        across, up = zip(*content.dots, strict=True)
        axes.scatter(across, up, s=DOT, color=BLUE, alpha=DOT_OPACITY, linewidths=0)
        axes.set_xlabel(content.x)
        axes.set_ylabel(content.y)

    return draw_dots


def _bars(content: Bars) -> Callable[[Axes], None]:
    def draw_groups(axes: Axes) -> None:
        places, height = range(len(content.groups)), 0.72 / len(content.bars)
        for number, ((name, values), colour) in enumerate(
            zip(content.bars.items(), itertools.cycle((BLUE, GREY, ORANGE)), strict=False)
        ):
            shift = (number - (len(content.bars) - 1) / 2) * height
            bars = axes.barh([place + shift for place in places], values, height, color=colour, label=name)
            axes.bar_label(bars, fmt="%.1f", padding=3)
        axes.set_yticks(list(places), list(content.groups))
        axes.set_xlim(0, 1.12 * max(max(values) for values in content.bars.values()) or 1)
        axes.set_xlabel(content.x)
        axes.invert_yaxis()
        axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2)

    return draw_groups


def _curves(content: Curves) -> Callable[[Axes], None]:
    def draw_lines(axes: Axes) -> None:
        dashes = itertools.cycle(("--", ":", "-."))
        for line, colour in zip(content.lines, itertools.cycle((BLUE, ORANGE, PURPLE, RED))):
            shade, style = (GREY, next(dashes)) if line.quiet else (colour, "-")
            _line(axes, line.points, line.name, shade, linestyle=style, marker="o", markersize=3.5)
        for name, level in content.levels.items():
            axes.axhline(level, color=GREEN, linewidth=1, label=name)
        if content.log_x:
            places = sorted({x for line in content.lines for x, _ in line.points})
            axes.set_xscale("log")
            axes.set_xticks(places, [f"{x:g}" for x in places])
            axes.minorticks_off()
        axes.set_xlabel(content.x)
        axes.set_ylabel(content.y)
        axes.legend(fontsize=8)

    return draw_lines


def _histogram(content: Histogram) -> Callable[[Axes], None]:
    def draw_bars(axes: Axes) -> None:
        axes.stairs(content.counts, content.edges, fill=True, color=BLUE, alpha=0.75)
        for (name, value), colour in zip(content.marks.items(), itertools.cycle((INK, RED))):
            axes.axvline(value, color=colour, linestyle="--", linewidth=1, label=f"{name} {value:.0f}")
        axes.set_xlabel(content.x)
        axes.set_ylabel(content.y)
        if content.marks:
            axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

    return draw_bars


def curve(history: History, key: str) -> list[tuple[int, float]]:
    """(step, value) of the training rows where the value is a number."""
    rows = [row for row in history if "validation" not in row]
    return _thin([(row["step"], float(row[key])) for row in rows if is_number(row.get(key))])


def validation_curve(history: History, key: str) -> list[tuple[int, float]]:
    """(step, value) of the validation rows where the value is a number."""
    rows = [(row["step"], row["validation"].get(key)) for row in history if row.get("validation")]
    return _thin([(step, float(value)) for step, value in rows if is_number(value)])


def phase_change(history: History) -> int | None:
    """The first step of the circuit phase, or None when there is no change of phase to mark."""
    first = [row["step"] for row in history if row.get("phase") == "circuit"]
    return first[0] if first and any(row.get("phase") == "warmup" for row in history) else None


def _over_steps(
    name: str, title: str, draw: Callable[[Axes], None], history: History, keys: Sequence[str] | Mapping[str, Any]
) -> str | None:
    """A figure with the step below, left out when there is nothing to draw: a curve needs two points."""
    if all(len(curve(history, key)) < 2 for key in keys):
        return None

    def draw_all(axes: Axes) -> None:
        draw(axes)
        axes.set_xlabel("step")
        axes.legend(fontsize=8)

    return draw_svg(name, title, draw_all)


def _line(axes: Axes, points: Sequence[tuple[float, float]], name: str, colour: str, **options: Any) -> None:
    if points:
        axes.plot([x for x, _ in points], [y for _, y in points], color=colour, label=name, **options)


def _dots(axes: Axes, points: Sequence[tuple[float, float]], name: str, colour: str) -> None:
    _line(axes, points, name, colour, linestyle="none", marker="o", markersize=3)


def _mark_phase(axes: Axes, history: History) -> None:
    step = phase_change(history)
    if step is not None:
        axes.axvline(step, color=GREY, linestyle=":", linewidth=1.2, label="circuit phase starts")


def _thin(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most `MAX_POINTS` of the points, evenly chosen, the last always among them."""
    every = math.ceil(len(points) / MAX_POINTS) or 1
    return points if every == 1 else points[::-1][::every][::-1]
