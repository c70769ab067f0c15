"""A concept for people to read: its words, the curve of leakage against accuracy, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes

from splade.evaluation.concept_growth import CurvePoint, Growth
from splade.evaluation.estimate import Estimate
from splade.evaluation.leakage import MOST_AT_CHANCE, Leakage
from splade.reporting.svg import BLUE, GREEN, GREY, ORANGE, draw_svg
from splade.surgery.concepts import Concept

PLOT = "curve.svg"
PAGE = "README.md"

PROBES = {"linear": ("linear probe", BLUE, "o", "-"), "mlp": ("small network", ORANGE, "s", "--")}
"""By key: name, colour, marker and line, so that no colour need be told from another."""

HOW_TO_READ = (
    "Each point is a number of words removed. Lower: probes tell less of the concept; further right: "
    "more texts are predicted wrongly."
)


def curve_table(growth: Growth) -> str:
    """The sizes that were measured, for a terminal."""
    score = "accuracy" if growth.labelled else "agreement"
    lines = [f"words  {score:>9}  {'change (95 %), points':>22}  flips  {'linear probe':>22}  {'small network':>22}"]
    for point in growth.points:
        change = f"{100 * point.change.mean:+.1f} ({100 * point.change.low:+.1f} to {100 * point.change.high:+.1f})"
        found = "  ".join(f"{_area(getattr(point.sparse, probe).auroc):>22}" for probe in PROBES)
        mark = "  <- chosen" if point.size == growth.chosen else ""
        lines.append(f"{point.size:5}  {point.score:9.1%}  {change:>22}  {point.flips:5}  {found}{mark}")
    hidden = "  ".join(f"{_area(getattr(growth.hidden, probe).auroc):>22}" for probe in PROBES)
    lines.append(f"{'hidden state, before and after':46}  {hidden}")
    chance = "  ".join(f"{_area(getattr(growth.after.sparse, probe).permuted):>22}" for probe in PROBES)
    lines.append(f"{'permuted labels':46}  {chance}")
    return "\n".join(lines)


def sentences(concept: Concept, growth: Growth) -> Iterator[str]:
    """What was found, and what a reader should not miss."""
    if concept.unmatched:
        yield f"The model has no token for: {', '.join(concept.unmatched)}."
    if concept.absent:
        yield f"In none of the texts that rank is active, and removed all the same: {', '.join(concept.absent)}."
    if not concept.by_class:
        yield (
            "The concept and the class are one in these texts, so that words of the class cannot be told from words of "
            "the concept: give texts of a class with the concept and without it."
        )
    yield _why_it_ended(concept, growth)
    if growth.ended != "at chance" and growth.surest_bound > MOST_AT_CHANCE:
        yield (
            f"Of {growth.positives} texts with the concept, even an area of one half is only known up to "
            f"{growth.surest_bound:.2f}: to show that it is gone, at most {MOST_AT_CHANCE}, more texts are needed."
        )
    yield (
        f"The backbone still reads the words: from the hidden state the concept is told as well as before "
        f"({_told(growth.hidden)})."
    )


def _why_it_ended(concept: Concept, growth: Growth) -> str:
    left = f"what is left in the sparse vector: {_told(growth.after.sparse)}"
    if growth.ended == "at chance":
        if not growth.chosen:
            return f"Nothing is to be removed: the sparse vector does not tell the concept ({left})."
        return f"Without {growth.chosen} word(s) the sparse vector tells the concept no better than chance ({left})."
    reason = {
        "budget": f"more words would cost more than the budget of {100 * growth.budget:g} point(s)",
        "candidates": "no other word goes with it so surely and so much oftener than with other texts (--odds)",
        "class": "more words would take what a class rests on",
    }[growth.ended]
    return f"The concept is NOT at chance without {growth.chosen} word(s): {reason} ({left})."


def _told(leakage: Leakage) -> str:
    return f"linear probe {_area(leakage.linear.auroc)}, small network {_area(leakage.mlp.auroc)}"


def _area(found: Estimate) -> str:
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def curve_svg(concept: Concept, growth: Growth) -> str:
    """The curve of leakage against accuracy."""
    score = "accuracy" if growth.labelled else "agreement"

    def draw(axes: Axes) -> None:
        for probe, (name, colour, marker, line) in PROBES.items():
            found = [getattr(point.sparse, probe).auroc for point in growth.points]
            lost = [-100 * point.change.mean for point in growth.points]
            spread = [[each.mean - each.low for each in found], [each.high - each.mean for each in found]]
            heights = [each.mean for each in found]
            axes.errorbar(
                lost,
                heights,
                spread,
                color=colour,
                marker=marker,
                linestyle=line,
                markersize=4,
                linewidth=1,
                label=name,
            )
        for point in growth.points:
            _numbered(axes, point)
        axes.axhline(MOST_AT_CHANCE, color=GREEN, linewidth=1, label="at chance: bounds below this")
        axes.axvline(100 * growth.budget, color=GREY, linewidth=1, linestyle=":", label="budget")
        axes.set_title(f"What is left of “{concept.name}” against its price", fontsize=9)
        axes.set_xlabel(f"{score} lost (percentage points)")
        axes.set_ylabel("area under the ROC curve")
        axes.legend(fontsize=6)
        axes.figure.supxlabel(_broken(HOW_TO_READ), fontsize=6)

    return draw_svg("concept", f"Leakage of {concept.name} against {score}. {HOW_TO_READ}", draw)


def _numbered(axes: Axes, point: CurvePoint) -> None:
    highest = max(getattr(point.sparse, probe).auroc.high for probe in PROBES)
    place = (-100 * point.change.mean, highest)
    axes.annotate(str(point.size), place, (0, 2), textcoords="offset points", ha="center", fontsize=6)


def _broken(sentence: str) -> str:
    first, _, second = sentence.partition(". ")
    return f"{first}.\n{second}"


def write_page(folder: Path, concept: Concept, growth: Growth) -> None:
    """Write the curve and a page of what was found into a folder."""
    (folder / PLOT).write_text(curve_svg(concept, growth), encoding="utf-8")
    said = "\n".join(f"- {sentence}" for sentence in sentences(concept, growth))
    parts = [
        f"# The concept “{concept.name}”",
        f"Found by {concept.source}: {concept.positives} of {concept.texts} texts; measured on {growth.texts} others, "
        f"{growth.positives} of them with it.",
        said,
        f"![{HOW_TO_READ}]({PLOT})",
        HOW_TO_READ,
        f"```\n{curve_table(growth)}\n```",
        "## What carries it",
        f"```\n{concept.table(len(concept))}\n```",
    ]
    (folder / PAGE).write_text("\n\n".join(parts) + "\n", encoding="utf-8")
