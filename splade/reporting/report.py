"""The report of a run: one HTML file that needs nothing else, with every figure beside a sentence on what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from splade.attribution.explanation import Explanation, WordScore
from splade.attribution.tagged import ExplainedText, ExplainedWord
from splade.evaluation.figure import percent
from splade.reporting import plots
from splade.reporting.about import about
from splade.reporting.explained import Row, segments, tag_rows, word_rows
from splade.reporting.interaction_rows import InteractionTable, interaction_table
from splade.reporting.sections import figure_title, headline, sections
from splade.reporting.tagged import Stretch, stretches
from splade.task_description import describe

TOP_WORDS = 8
"""Words named in a sentence's sum line; the others share one summand, and all are in the unfolded table."""

BROAD = 4
"""Columns from more of which on a table has the page's whole width, and stands beside no drawing."""

FAINTEST, STRONGEST = 0.10, 0.55
"""Opacity of the background behind a word that says almost nothing, and behind the one that says most."""


@dataclass(frozen=True)
class Plot:
    """A drawing, what it is called, and how it is to be read."""

    title: str
    svg: Markup
    caption: str


@dataclass(frozen=True)
class Mark:
    """A stretch of an explained text: plain, or a word with a background and a tooltip."""

    text: str
    kind: str = ""
    """`toward`, `against`, or empty for what has no score."""
    opacity: float = 0.0
    title: str = ""


@dataclass(frozen=True)
class Explained:
    """One sentence of the report."""

    explanation: Explanation
    probability: str
    marks: list[Mark]
    rows: list[Row]
    """The sum as one line."""
    words: list[Row]
    """The sum with every word that has a say."""
    error: float
    gold: str | None = None
    """The label that the data have, where it is another."""
    interactions: InteractionTable | None = None
    """What deleting words does, of sentences in which words act through others."""


@dataclass(frozen=True)
class TaggedSentence:
    """One sentence of a tagger's report."""

    stretches: list[Stretch]
    words: list[tuple[ExplainedWord, str, list[Row]]]
    """Each word of an entity, how sure its tag is, and its sum as one line."""
    error: float
    gold: str | None = None
    """The tags that the data have where they are others."""

    @property
    def by_word(self) -> bool:
        """Whether the sums are over words of the sentence, not tokens."""
        return any(len(word.explanation.words) > 1 for word, _, _ in self.words)


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


def explained(explanation: Explanation, largest: float, gold: str | None = None) -> Explained:
    """A sentence with highlighted words and its sum; `largest`: the |score| that has the strongest colour."""
    return Explained(
        explanation=explanation,
        probability=percent(explanation.probabilities[explanation.target]),
        marks=[_mark(segment.text, segment.word, largest) for segment in segments(explanation)],
        rows=word_rows(explanation, TOP_WORDS),
        words=word_rows(explanation, len(explanation.words)),
        error=explanation.check(),
        gold=gold,
        interactions=None if explanation.interactions is None else interaction_table(explanation.interactions),
    )


def tagged_sentence(found: ExplainedText, gold: str | None = None) -> TaggedSentence:
    """A sentence with highlighted entities and the sum behind each of their words."""
    return TaggedSentence(
        stretches(found.tagged),
        [
            (
                word,
                percent(word.explanation.probabilities[word.explanation.target]),
                tag_rows(word.explanation, TOP_WORDS),
            )
            for word in found.explained
        ],
        max((word.explanation.check() for word in found.explained), default=0.0),
        gold,
    )


def _mark(text: str, word: WordScore | None, largest: float) -> Mark:
    if word is None or word.score == 0 or largest == 0:
        return Mark(text)
    share = abs(word.score) / largest
    because = f", because of {', '.join(word.tokens)}" if word.tokens else ""
    return Mark(
        text,
        kind="toward" if word.score > 0 else "against",
        opacity=round(FAINTEST + (STRONGEST - FAINTEST) * share, 3),
        title=f"{word.score:+.6f}{because}",
    )


def _plot(title: str, svg: str | None, caption: str) -> Plot | None:
    # Safe to mark as markup: the drawing holds numbers and our own labels, no text of the data.
    return None if svg is None else Plot(title, Markup(svg), caption)
