"""What measures declare of their results, filled in for one run: headline figures, and a section a subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from splade.evaluation.figure import SHARE, Content, Figure, Grid, Results, find, is_number
from splade.evaluation.measures import declared
from splade.task_description import describe


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
    for one in declared(_task(results)):
        section = by_title.setdefault(one.title, Section(one.title))
        section.about = section.about or spoken(one.about, results)
        section.figures += _shown([figure for figure in one.figures if not figure.headline], results)
        for table in one.tables:
            if (grid := table.read(results)) is not None:
                section.tables.append(ShownTable(spoken(table.title, results), grid, table.brief))
        for drawing in one.drawings:
            if (content := drawing.read(results)) is not None:
                title, caption, x, y = (
                    spoken(text, results) for text in (drawing.title, drawing.caption, content.x, content.y)
                )
                content = replace(content, x=x, y=y)
                section.drawings.append(ShownDrawing(drawing.name, title, caption, content))
    return [each for each in by_title.values() if each.figures or each.tables or each.drawings]


def figure_title(key: str) -> str:
    """What the figure at a key of the results is called."""
    titles = {figure.key: figure.title for one in declared() for figure in one.figures}
    return titles.get(key, key)


def spoken(text: str, results: Results) -> str:
    """A declared text with the words of the run's task in the place of {unit}, {units} and {items}."""
    task = describe(_task(results))
    words = {"{unit}": task.unit, "{units}": task.units, "{items}": task.examples}
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text


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
