"""The page of the study of surgery: one HTML file with conditions by groups, words, examples and swaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from matplotlib.axes import Axes

from splade.evaluation.figure import MISSING, is_number
from splade.reporting.report import Plot, sentence_case
from splade.reporting.sentences import FAINTEST, STRONGEST
from splade.reporting.svg import BLUE, GREY, ORANGE, draw_svg

BASELINE, WANTED = "baseline", "suppression_refit"

MOST_GROUPS = 12
"""Groups that a drawing has, those with the largest gaps of the baseline; the table has all."""

Results = Mapping[str, Any]


def write_surgery_page(path: Path, results: Results) -> None:
    """Write the page of a study's results."""
    environment = Environment(
        loader=PackageLoader("splade.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"sentence": sentence_case, "points": points, "interval": interval, "signed": signed}
    examples = [each for each in results.get("examples", []) if "text" in each]
    page = environment.get_template("surgery.html.j2").render(
        results=results,
        cards=cards(results),
        sets=[_set(results, name, found) for name, found in results["sets"].items()],
        steps=_plot(
            "steps", "Words removed and the gap that is left", _steps(results["words"]["steps"]), STEPS_CAPTION
        ),
        examples=examples,
        changed=next((each for each in results.get("examples", []) if "changed" in each), None),
        opacity=_opacity,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


STEPS_CAPTION = (
    "Each step removes the words that carry the largest gap that is left, and refits the head. The gap is of training "
    "and validation texts, the accuracy of validation texts; test texts decide nothing."
)


def _opacity(value: float, most: float) -> float:
    """Of the background behind a word that says so much, where `most` has the strongest."""
    return round(FAINTEST + (STRONGEST - FAINTEST) * min(1.0, abs(value) / most), 3)


def points(value: object) -> str:
    """A share as points, `9.5`."""
    return f"{100 * value:.1f}".replace("-", "−") if is_number(value) else MISSING


def signed(found: Mapping[str, float] | None) -> str:
    """A change as points with its sign."""
    return f"{100 * found['mean']:+.1f}".replace("-", "−") if found else MISSING


def interval(found: Mapping[str, float] | None) -> str:
    """`8.1 to 10.9`; nothing where there is none."""
    if not found:
        return ""
    return f"{100 * found['low']:.1f} to {100 * found['high']:.1f}".replace("-", "−")


def cards(results: Results) -> list[dict[str, str]]:
    """The few figures that a reader wants first, of the first set."""
    name, found = next(iter(results["sets"].items()))
    before, after = (found["summary"].get(each) for each in (BASELINE, WANTED))
    if not before or not after or not before["matched_gap"]:
        return []
    rate = f"{100 * results['matched_fpr']:g} %"
    return [
        {
            "title": "largest gap of false positives",
            "value": f"{points(before['matched_gap']['mean'])} → {points(after['matched_gap']['mean'])} points",
            "beside": f"change {signed(after['matched_gap_change'])} ({interval(after['matched_gap_change'])})",
            "meaning": f"On {name}, where {rate} of all harmless texts are called harmful: of the group where that is "
            f"most, {', '.join(before['matched_group'])} before and {', '.join(after['matched_group'])} after.",
        },
        {
            "title": "accuracy",
            "value": f"{points(before['matched_accuracy']['mean'])} → {points(after['matched_accuracy']['mean'])} %",
            "beside": f"change {signed(after['matched_accuracy_change'])} "
            f"({interval(after['matched_accuracy_change'])})",
            "meaning": "At the same rate of false positives.",
        },
        {
            "title": "words removed",
            "value": str(len(results["words"]["words"])),
            "beside": "",
            "meaning": results["words"]["how"],
        },
    ]


def _set(results: Results, name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    titles = {each: about["title"] for each, about in results["conditions"].items()}
    groups = group_rows(found)
    return {
        "name": name,
        "found": found,
        "rows": [{"title": titles[each], **row} for each, row in found["summary"].items()],
        "forest": _plot(
            f"forest-{_plain(name)}",
            "Largest gap by condition",
            forest([(titles[each], row["matched_gap"]) for each, row in found["summary"].items()], "points"),
            "How much more often harmless texts about one group are called harmful than all, at the same overall rate "
            "in every condition; lines are 95 % intervals. Orange: the baseline.",
        ),
        "by_group": _plot(
            f"groups-{_plain(name)}",
            "Gaps of groups, before and after",
            paired_forest(
                [(row["name"], row["before"], row["after"]) for row in groups if row["powered"]][:MOST_GROUPS]
            ),
            "Orange dots: the baseline; blue squares: suppression with a refit. Groups with 50 harmless texts or more.",
        ),
        "groups": groups,
    }


def group_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every group with its gap at the matched rate before and after, the largest first; those with few texts last."""
    before, after = (found["conditions"].get(each) for each in (BASELINE, WANTED))
    change = (found["changes"].get(WANTED) or {}).get("matched") or {}
    rows = []
    for name, size in found["groups"].items():
        one, two = (
            ((each or {}).get("matched") or {}).get("fpr", {}).get("groups", {}).get(name) for each in (before, after)
        )
        rows.append(
            {
                "name": name,
                "negatives": size["negatives"],
                "powered": size["negatives"] >= found["fewest"],
                "rate": one["rate"] if one else None,
                "before": one["gap"] if one else None,
                "after": two["gap"] if two else None,
                "change": (change.get("fpr", {}).get("gaps") or {}).get(name),
                "told": _told(size["negatives"], one, found["fewest"]),
            }
        )
    return sorted(rows, key=lambda row: (not row["powered"], -(row["before"]["mean"] if row["before"] else -9)))


def _told(negatives: int, rate: Mapping[str, Any] | None, fewest: int) -> str:
    if not negatives:
        return "undefined: no harmless text"
    if negatives >= fewest:
        return ""
    gap = (rate or {}).get("detectable")
    return f"underpowered: could show {points(gap)} points" if is_number(gap) else "underpowered: could show no gap"


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def _plot(name: str, title: str, draw: Callable[[Axes], None] | None, caption: str) -> Plot | None:
    # Safe to mark as markup: matplotlib escapes the letters of a drawing.
    return None if draw is None else Plot(title, Markup(draw_svg(name, title, draw)), caption)


def forest(rows: Sequence[tuple[str, Mapping[str, float] | None]], unit: str) -> Callable[[Axes], None] | None:
    """A dot and an interval a row, the first in another colour."""
    known = [(name, found) for name, found in rows if found]
    if not known:
        return None

    def draw(axes: Axes) -> None:
        axes.axvline(0, color=GREY, linewidth=0.6)
        axes.axvline(100 * known[0][1]["mean"], color=ORANGE, linewidth=0.8, linestyle=":")
        for place, (_, found) in enumerate(known):
            colour, marker = (ORANGE, "o") if place == 0 else (BLUE, "s")
            _dot(axes, place, found, colour, marker)
        _rows(axes, [name for name, _ in known], unit)

    return draw


def paired_forest(rows: Sequence[tuple[str, Any, Any]]) -> Callable[[Axes], None] | None:
    """Two dots with intervals a row."""
    known = [(name, one, two) for name, one, two in rows if one and two]
    if not known:
        return None

    def draw(axes: Axes) -> None:
        axes.axvline(0, color=GREY, linewidth=0.6)
        for place, (_, one, two) in enumerate(known):
            _dot(axes, place - 0.17, one, ORANGE, "o")
            _dot(axes, place + 0.17, two, BLUE, "s")
        _rows(axes, [name.replace("_", " ") for name, _, _ in known], "points")

    return draw


def _dot(axes: Axes, place: float, found: Mapping[str, float], colour: str, marker: str) -> None:
    axes.plot([100 * found["low"], 100 * found["high"]], [place, place], color=colour, linewidth=1.4)
    axes.plot([100 * found["mean"]], [place], color=colour, marker=marker, markersize=4.5, linestyle="none")


def _rows(axes: Axes, names: Sequence[str], unit: str) -> None:
    axes.set_yticks(range(len(names)), list(names))
    axes.tick_params(axis="y", labelsize=7.5, length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(unit)


def _steps(steps: Sequence[Mapping[str, Any]]) -> Callable[[Axes], None] | None:
    if len(steps) < 2:
        return None

    def draw(axes: Axes) -> None:
        words = [each["words"] for each in steps]
        axes.plot(
            words,
            [100 * each["gap"] for each in steps],
            color=ORANGE,
            marker="o",
            markersize=4,
            label="largest gap, points",
        )
        lost = [100 * (steps[0]["accuracy"] - each["accuracy"]) for each in steps]
        axes.plot(words, lost, color=BLUE, marker="s", markersize=4, linestyle="--", label="accuracy lost, points")
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.set_xlabel("words removed")
        axes.legend(fontsize=8)

    return draw
