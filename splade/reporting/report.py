"""The report of a run: one HTML file that needs nothing else, with every figure beside a sentence on what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from splade.attribution.explanation import Explanation
from splade.attribution.tagged import ExplainedText
from splade.reporting import plots
from splade.reporting.about import about
from splade.reporting.sections import figure_title, headline, sections
from splade.reporting.sentences import STRONGEST, Explained, TaggedSentence, explained, tagged_sentence
from splade.task_description import describe

BROAD = 4
"""Columns from more of which on a table has the page's whole width, and stands beside no drawing."""


@dataclass(frozen=True)
class Plot:
    """A drawing, what it is called, and how it is to be read."""

    title: str
    svg: Markup
    caption: str


def write_report(
    path: str | Path,
    results: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    explanations: Sequence[Explanation | ExplainedText],
    wrong: Sequence[tuple[Explanation | ExplainedText, str]] = (),
) -> None:
    """Write the report of a run to `path`.

    Args:
        path: the HTML file; its folder is made when missing.
        results: what results.json holds. Every key is optional: a section without its figures is left out.
        history: the rows of metrics.jsonl.
        explanations: sentences to show, in order.
        wrong: sentences that were decided wrongly, each with what the data say.
    """
    environment = Environment(
        loader=PackageLoader("splade.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "sentence": sentence_case,
        "whole": whole_numbers,
        "opacity": lambda share: round(STRONGEST * share, 3),
        "anchor": lambda title: re.sub(r"\W+", "-", title.lower()).strip("-"),
    }
    environment.globals["BROAD"] = BROAD
    task = describe(results.get("task"))
    page = environment.get_template("report.html.j2").render(
        title=results.get("dataset") or "a run",
        results=results,
        task=task,
        headline=headline(results),
        sections=sections(results),
        draw=lambda drawing: _plot(
            drawing.title, plots.draw(drawing.name, drawing.title, drawing.content), drawing.caption
        ),
        about=about(results),
        training=training_plots(history, (results.get("training") or {}).get("active_target"), results),
        two_phases=plots.phase_change(history) is not None,
        shown=shown_sentences(explanations, wrong),
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def sentence_case(text: str) -> str:
    """A title as it begins a line."""
    return text[:1].upper() + text[1:]


def whole_numbers(text: str) -> str:
    """A text in which no line may end between a number and its unit, nor between the ends of an interval."""
    spaces = r"(?<=\d) (?=%)|(?<=[\d%]) (?=to [-\d])|(?<=[\d%] to) (?=[-\d])"
    return re.sub(spaces, "\u00a0", text)


@dataclass(frozen=True)
class Shown:
    """All sentences of a report, decided rightly and wrongly."""

    right: list[Explained | TaggedSentence]
    wrong: list[Explained | TaggedSentence]
    tagged: bool


def shown_sentences(
    right: Sequence[Explanation | ExplainedText], wrong: Sequence[tuple[Explanation | ExplainedText, str]]
) -> Shown:
    """The sentences as the page has them: all of one scale, so that weak words of one look weak beside another."""
    every = [*right, *(one for one, _ in wrong)]
    scores = [abs(word.score) for one in every if isinstance(one, Explanation) for word in one.words]
    largest = max(scores, default=0.0)

    def shown(one: Explanation | ExplainedText, gold: str | None = None) -> Explained | TaggedSentence:
        return explained(one, largest, gold) if isinstance(one, Explanation) else tagged_sentence(one, gold)

    return Shown(
        [shown(one) for one in right],
        [shown(one, gold) for one, gold in wrong],
        tagged=any(isinstance(one, ExplainedText) for one in every),
    )


def training_plots(
    history: Sequence[Mapping[str, Any]], active_target: float | None, results: Mapping[str, Any]
) -> list[Plot]:
    """The curves of training, those that have something to show."""
    task = describe(results.get("task"))
    row = task.unit
    drawn = [
        _plot(
            "Cross-entropy against its limit",
            plots.constraint(history),
            "After the warm-up, training may only shrink the model while cross-entropy stays below the limit τ.",
        ),
        _plot(
            "Active tokens over training",
            plots.active_tokens(history, active_target, row),
            f"Active tokens a {row}: the circuit phase should bring them down to the target and hold them there.",
        ),
        _plot(
            "Validation",
            plots.validation_score(history, task.figure, figure_title(task.figure)),
            "On the validation split, which is not trained on, each time it was measured.",
        ),
        _plot(
            "Loss terms over training",
            plots.loss_terms(history),
            "Each term of the objective; the scale is logarithmic, so a straight fall is a steady one.",
        ),
        _plot(
            "The multiplier λ over training",
            plots.multiplier(history),
            "The multiplier λ rises while cross-entropy is above τ and falls while it is below.",
        ),
    ]
    return [plot for plot in drawn if plot is not None]


def _plot(title: str, svg: str | None, caption: str) -> Plot | None:
    # Safe to mark as markup: the drawing holds numbers and our own labels, no text of the data.
    return None if svg is None else Plot(title, Markup(svg), caption)
