"""A study's figures, saved as PNG and SVG beside its results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter
from matplotlib.transforms import Bbox

from splade.reporting.svg import BLUE, GREY, INK, STYLE
from splade.studies.intervals import Spread
from splade.studies.summary import Column, Row

MAX_PANELS = 6
"""Figures drawn side by side, the first that were measured."""

GROUNDED = "share of contribution on rated words, with the right sign (%)"
IN_TEXT = "share of contribution on words in the text (%)"
FEWEST_TICKS = 3
"""Ticks at 1, 2 and 5 are enough if there are so many of them."""
MOST_TICKS = 5
"""Below a panel of `draw_variations`."""
TICK_GAP = 4
"""Between the labels of two ticks, in points; about a blank."""
MARKERS = "osD^vP*X"
POINT_SIZE = 7
"""Of a marker, in points."""
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Where a point's label may stand: to the right (1) or left of it, above (1) or below."""
Point = tuple[float, float]


def draw_variations(folder: Path, name: str, rows: Sequence[Row], figures: Sequence[Column]) -> list[Path]:
    """A panel a figure: each variation's mean as a point, its interval as a line, every seed as a small dot. Without a
    figure worth a panel, nothing is drawn."""
    chosen = [figure for figure in figures if figure.panel][:MAX_PANELS]
    if not chosen:
        return []
    with rc_context(STYLE):
        canvas = Canvas(figsize=(1.6 + 2.1 * len(chosen), 1.0 + 0.34 * len(rows)), layout="constrained")
        every = canvas.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
        for axes, figure in zip(every, chosen, strict=True):
            _panel(axes, rows, figure)
        every[0].set_yticks(range(len(rows)), [row.name for row in rows])
        every[0].invert_yaxis()
        for axes in every:
            _thin_ticks(canvas, axes)
        return _save(canvas, folder, name)


def _panel(axes: Axes, rows: Sequence[Row], figure: Column) -> None:
    scale = figure.form.scale
    for place, row in enumerate(rows):
        value = row.figures.get(figure.key)
        if value is None:
            continue
        axes.plot(
            [scale * v for v in value.values], [place] * len(value.values), ".", color=INK, markersize=3, zorder=4
        )
        bar = _bar(value, scale)
        axes.errorbar(scale * value.mean, place, xerr=bar, fmt="o", color=BLUE, markersize=5, capsize=2)
    if figure.log:
        axes.set_xscale("log")
    axes.set_xlabel(figure.heading)
    axes.grid(axis="x", color=GREY, alpha=0.25)


def _bar(value: Spread, scale: float) -> list[list[float]] | None:
    """The interval as matplotlib takes it: how far below the mean, how far above."""
    return None if value.sides is None else [[scale * side] for side in value.sides]


def _thin_ticks(canvas: Canvas, axes: Axes) -> None:
    """As many ticks below a panel as have room for their labels."""
    low, high = axes.get_xlim()
    decades = axes.get_xscale() == "log" and high / low > 100  # else powers of ten would be too few
    axes.xaxis.set_minor_locator(NullLocator())
    if not decades:
        axes.xaxis.set_major_formatter(ScalarFormatter())
    for most in range(MOST_TICKS, 1, -1):
        axes.xaxis.set_major_locator(LogLocator(numticks=most) if decades else MaxNLocator(most - 1))
        canvas.draw_without_rendering()  # the layout gives the panels their widths
        boxes = [
            label.get_window_extent().padded(TICK_GAP * canvas.dpi / 72 / 2)
            for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
            if low <= tick <= high
        ]
        if not any(box.count_overlaps(boxes[:index]) for index, box in enumerate(boxes)):
            return


def draw_frontier(folder: Path, name: str, rows: Sequence[Row]) -> list[Path]:
    """Accuracy (F1) against active tokens, coloured by grounding; points have their rows' numbers and names."""
    score = "f1" if any("f1" in row.figures for row in rows) else "accuracy"
    shown = [(n, row) for n, row in enumerate(rows, 1) if {score, "active_tokens"} <= row.figures.keys()]
    rated = any("rated_share" in row.figures for _, row in shown)
    shares = {n: grounded(row, rated) for n, row in shown}
    most = math.ceil(10 * max((share for share in shares.values() if share is not None), default=1)) * 10  # per cent
    kinds = list(dict.fromkeys(row.name.split(" / ")[0] for _, row in shown))
    with rc_context(STYLE):
        canvas = Canvas(figsize=(7.5, 4.8), layout="constrained")
        axes = canvas.add_subplot()
        for index, kind in enumerate(kinds):
            own = [(n, row) for n, row in shown if row.name.split(" / ")[0] == kind]
            for _, row in own:
                x, y = row.figures["active_tokens"], row.figures[score]
                axes.errorbar(x.mean, 100 * y.mean, _bar(y, 100), _bar(x, 1), color=GREY, linewidth=0.8)
            points = axes.scatter(
                [row.figures["active_tokens"].mean for _, row in own],
                [100 * row.figures[score].mean for _, row in own],
                c=[math.nan if share is None else 100 * share for share in (shares[n] for n, _ in own)],
                plotnonfinite=True,  # in grey: not measured
                vmin=0,
                vmax=most,
                cmap=colormaps["viridis"].with_extremes(bad=GREY),
                marker=MARKERS[index % len(MARKERS)],
                s=POINT_SIZE**2,
                zorder=3,
                label=kind,
            )
        if shown:
            canvas.colorbar(points, label=GROUNDED if rated else IN_TEXT)
            axes.legend(fontsize=8)
        axes.set_xscale("symlog", linthresh=1)  # from a few tokens to thousands, and 0 must not be lost
        low, high = axes.get_xlim()
        few, many = (
            [n * 10**power for power in range(5) for n in steps if low <= n * 10**power <= high]
            for steps in ((1, 2, 5), range(1, 10))
        )
        ticks = few if len(few) >= FEWEST_TICKS else many
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("active tokens a word" if score == "f1" else "active tokens a text")
        axes.set_ylabel("entity F1 (%)" if score == "f1" else "accuracy (%)")
        name_points(
            canvas,
            axes,
            {
                f"{n} {row.name.split(' / ')[-1]}": (row.figures["active_tokens"].mean, 100 * row.figures[score].mean)
                for n, row in shown
            },
        )
        return _save(canvas, folder, name)


def name_points(canvas: Canvas, axes: Axes, places: Mapping[str, Point]) -> None:
    """A label at each point, at the first of its corners where it covers neither another label nor a point and stays
    inside, if there is one; after the axes have their limits."""
    canvas.draw_without_rendering()
    around = POINT_SIZE * canvas.dpi / 72
    points = [axes.transData.transform(place) for place in places.values()]  # in pixels
    taken = [Bbox.from_bounds(x - around / 2, y - around / 2, around, around) for x, y in points]
    inside = axes.get_window_extent()
    for label, place in sorted(places.items(), key=lambda item: -item[1][1]):  # from the top: the others move down
        tried = [
            axes.annotate(
                label,
                place,
                xytext=(5 * right, 5 * up),
                textcoords="offset points",
                horizontalalignment="left" if right > 0 else "right",
                verticalalignment="bottom" if up > 0 else "top",
                fontsize=8,
                color=INK,
            )
            for right, up in CORNERS
        ]
        boxes = [text.get_window_extent() for text in tried]
        free = [
            index
            for index, box in enumerate(boxes)
            if not box.count_overlaps(taken) and inside.x0 <= box.x0 and inside.y0 <= box.y0
        ]
        chosen = free[0] if free else 0
        for index, text in enumerate(tried):
            if index != chosen:
                text.remove()
        taken.append(boxes[chosen])


def grounded(row: Row, rated: bool = True) -> float | None:
    """Share of all |contribution| that falls on rated words with the right sign, or on words in the text: the mean over
    seeds; None if it was not measured."""
    keys = ("rated_share", "right_sign") if rated else ("input_share",)
    if not set(keys) <= row.figures.keys():
        return None
    return fmean(math.prod(values) for values in zip(*(row.figures[key].values for key in keys), strict=True))


def draw_lines(
    folder: Path, name: str, panels: Mapping[str, Mapping[str, Sequence[Point]]], below: str, log: Sequence[str] = ()
) -> list[Path]:
    """A panel for each title, with a line for each name; panels in ``log`` have logarithmic axes."""
    with rc_context(STYLE):
        canvas = Canvas(figsize=(3.3 * len(panels), 3.0), layout="constrained")
        for axes, (title, lines) in zip(canvas.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            for label, points in lines.items():
                axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3.5, label=label)
            if title in log:
                axes.set_xscale("log", base=2)
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
            axes.set_xlabel(below)
            axes.set_title(title, fontsize=9)
            axes.legend(fontsize=8)
        return _save(canvas, folder, name)


def _save(canvas: Canvas, folder: Path, name: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    canvas.savefig(paths[0], dpi=160, facecolor="white")
    canvas.savefig(paths[1], facecolor="white", metadata={"Date": None})
    return paths
