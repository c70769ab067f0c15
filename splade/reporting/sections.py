"""What measures declare of their results, filled in for one run: headline figures, and a section a subject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from splade.evaluation.figure import COUNT, SHARE, Content, Figure, Grid, Results, find, is_number
from splade.evaluation.measure import Declared, Measure
from splade.evaluation.measures import declared
from splade.task_description import TASK_DESCRIPTIONS, describe

OF_A_TASK = re.compile(rf"\{{(?P<task>{'|'.join(TASK_DESCRIPTIONS.names())}):(?P<text>[^{{}}]*)\}}")
"""What is said of one task alone in a declared text: `{tagging:, at the words of entities}`."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure of a run."""

    title: str
    value: str
    meaning: str
    beside: str = ""
    """The number to compare with, or its spread."""


@dataclass(frozen=True)
class ShownTable:
    """A table of a run."""

    title: str
    grid: Grid
    brief: int


@dataclass(frozen=True)
class ShownDrawing:
    """What to draw of a run."""

    name: str
    title: str
    caption: str
    content: Content


@dataclass
class Section:
    """All that is shown under one title."""

    title: str
    about: str = ""
    counts: str = ""
    """What was looked at: texts, words."""
    figures: list[ShownFigure] = field(default_factory=list)
    tables: list[ShownTable] = field(default_factory=list)
    drawings: list[ShownDrawing] = field(default_factory=list)


def headline(results: Results) -> list[ShownFigure]:
    """The few figures a reader wants first, beside the dense baseline where there is one."""
    figures = [figure for one in declared(_task(results)) for figure in one.figures if figure.headline]
    return _shown(figures, results)


def all_figures(results: Results) -> list[ShownFigure]:
    """Every figure that was measured."""
    return _shown([figure for one in declared(_task(results)) for figure in one.figures], results)


def brief_figures(results: Results) -> list[ShownFigure]:
    """The figures that fit into a terminal."""
    figures = [figure for one in declared(_task(results)) for figure in one.figures if figure.brief]
    return _shown(figures, results)


def sections(results: Results) -> list[Section]:
    """What was measured, a section a title, in the order of declaration; a section without content is left out."""
    by_title: dict[str, Section] = {}
    in_headline = {figure.title for figure in headline(results)}
    for one in declared(_task(results)):
        section = by_title.setdefault(one.title, Section(one.title))
        section.about = section.about or spoken(one.about, results)
        section.counts = section.counts or _counts(one, results)
        section.figures += _shown(one.figures, results)
        for table in one.tables:
            if (grid := table.read(results)) is not None:
                said = replace(
                    grid, columns=[spoken(name, results) for name in grid.columns], note=spoken(grid.note, results)
                )
                section.tables.append(ShownTable(spoken(table.title, results), said, table.brief))
        for drawing in one.drawings:
            if (content := drawing.read(results)) is not None:
                title, caption, x, y = (
                    spoken(text, results) for text in (drawing.title, drawing.caption, content.x, content.y)
                )
                content = replace(content, x=x, y=y)
                section.drawings.append(ShownDrawing(drawing.name, title, caption, content))
    for section in by_title.values():  # those of the headline are told again only beside others of their section
        if all(figure.title in in_headline for figure in section.figures):
            section.figures = []
    return [each for each in by_title.values() if each.figures or each.tables or each.drawings]


def figure_title(key: str) -> str:
    """What the figure at a key of the results is called."""
    titles = {figure.key: figure.title for one in declared() for figure in one.figures}
    return titles.get(key, key)


def spoken(text: str, results: Results) -> str:
    """A declared text with the words of the run's task in the place of {unit}, {units} and {items}; what stands in
    {tagging: …} is for taggers alone, and so for any task."""
    task = _task(results)
    return OF_A_TASK.sub(lambda found: found["text"] if found["task"] == task else "", _worded(text, task))


def spoken_of_any(text: str, results: Results) -> str:
    """The same for a reader who has no task in mind: what is for one task alone says so."""
    return OF_A_TASK.sub(r"\g<text> (\g<task>)", _worded(text, _task(results)).replace("}{", "} or {"))


def _worded(text: str, task: str) -> str:
    description = describe(task)
    words = {"{unit}": description.unit, "{units}": description.units, "{items}": description.examples}
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text


def _counts(one: type[Declared], results: Results) -> str:
    """On how much a measure was taken that has a section of the results for itself, and says so there."""
    place = one.section if issubclass(one, Measure) else ""
    owners = [other for other in declared() if issubclass(other, Measure) and other.section == place]
    if not place or len(owners) > 1:
        return ""
    task = describe(_task(results))
    named = {"texts": task.examples, "rows": task.units, "words": "words"}
    counts = {key: find(results, f"{place}.{key}") for key in named}
    said = [f"{COUNT.show(count)} {named[key]}" for key, count in counts.items() if is_number(count)]
    return " and ".join(dict.fromkeys(said))


def _shown(figures: Sequence[Figure], results: Results) -> list[ShownFigure]:
    return [
        ShownFigure(spoken(figure.title, results), value, spoken(figure.meaning, results), _beside(figure, results))
        for figure in figures
        if (value := figure.show(results)) is not None
    ]


def _beside(figure: Figure, results: Results) -> str:
    """The dense baseline's number where it has the same one, and what the figure itself puts beside it."""
    parts = []
    value, dense = figure.read(results), find(results, f"dense.{figure.key}")
    if value is not None and is_number(dense):
        points = f" ({100 * (value - dense):+.1f} points)" if figure.form is SHARE else ""
        parts.append(f"dense head {figure.form.show(dense)}{points}")
    if figure.beside is not None:
        parts.append(figure.beside(results))
    return ", ".join(part for part in parts if part)


def _task(results: Results) -> str:
    return describe(results.get("task")).name
