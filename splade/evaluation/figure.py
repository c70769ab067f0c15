"""Figures, tables and drawings: what a measure says of its results, for everything that shows them.

Each reads the mapping that `results.json` holds, in which any key may be missing; what is missing is left out, never
shown as a zero. Nothing here knows who shows it: a terminal, a page, a model card, a study, the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

MISSING = "–"

Results = Mapping[str, Any]
"""What `results.json` holds."""


@dataclass(frozen=True)
class Form:
    """How a number is written."""

    digits: int = 1
    """Decimals; -1: the size alone, as in 1.2e-06."""
    scale: float = 1.0
    unit: str = ""
    bounds: tuple[float, float] = (0.0, math.inf)
    """The least and the greatest value there can be."""

    def number(self, value: float) -> str:
        """The number without its unit."""
        if self.digits < 0:
            return f"{value:.1e}"
        number = f"{self.scale * value:,.{self.digits}f}"
        return number.removeprefix("-") if not number.strip("-0.") else number  # -0.0 is a zero

    def show(self, value: object) -> str:
        """`91.3 %`; a dash for what is no number."""
        if not is_number(value):
            return MISSING
        return f"{self.number(value)} {self.unit}".rstrip()


SHARE = Form(1, 100, "%", (0, 1))
COUNT = Form(0)
MEAN = Form(1)
DIVERGENCE = Form(3)
COSINE = Form(3, bounds=(-1, 1))
SIZE_COSINE = Form(3, bounds=(0, 1))  # no entry is negative, so no cosine is
ERROR = Form(-1)
SECONDS = Form(3)
MEGABYTES = Form(0, unit="MB")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be shown: a finite number, and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def percent(share: object) -> str:
    """A share in per cent with one decimal."""
    return SHARE.show(share)


def find(results: Results, key: str) -> Any:
    """The value at a dotted key; None if any part of it is missing. A name that holds a dot, `0.1`, is found too."""
    value: Any = results
    parts = key.split(".")
    while parts:
        if not isinstance(value, Mapping):
            return None
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            if name in value:
                value, parts = value[name], parts[length:]
                break
        else:
            return None
    return value


@dataclass(frozen=True)
class Figure:
    """A number, and how it is spoken of wherever it is shown.

    In `title` and `meaning`, {unit} stands for what a prediction is made for ("text", "word"), {units} for several,
    {items} for what the data has ("texts", "sentences"); {tagging: …} is said of taggers alone, and so of any task.
    """

    key: str
    """Where `results.json` has it: `dla.max_error`."""
    title: str
    meaning: str
    """One sentence: what was measured, and how to read it."""
    form: Form = SHARE
    better: Literal["higher", "lower"] | None = None
    """None: it depends."""
    headline: bool = False
    """Among the first that a reader sees."""
    brief: bool = True
    """Whether a terminal shows it too, and not only the report."""
    column: str = ""
    """Its name in the results of a study; empty: no column there."""
    panel: bool = False
    """Whether a study draws it."""
    log: bool = False
    """Drawn on a logarithmic axis."""
    beside: Callable[[Results], str] | None = None
    """A few words that go with the number: its spread, what it is of."""
    text: Callable[[Results], str | None] | None = None
    """How it is written where the number alone does not say it, such as with the word it is of."""

    def read(self, results: Results) -> float | None:
        """The number; None if it was not measured."""
        value = find(results, self.key)
        return float(value) if is_number(value) else None

    def show(self, results: Results) -> str | None:
        """The number as it is written; None if it was not measured."""
        if self.text is not None:
            return self.text(results)
        value = find(results, self.key)
        return self.form.show(value) if is_number(value) else None


def beside(words: str, key: str, form: Form = SHARE) -> Callable[[Results], str]:
    """A further number that goes with a figure, in the place of {} in some `words`; nothing if it was not measured."""

    def said(results: Results) -> str:
        value = find(results, key)
        return words.format(form.show(value)) if is_number(value) else ""

    return said


@dataclass(frozen=True)
class Key:
    """Further keys of `results.json`, which no figure or table shows, for the documentation."""

    key: str
    meaning: str


INTERVAL = "95 %: "
"""Begins the title of a cell that tells its interval."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    share: float | None = None
    """Of its row, for a shade behind it; None: none."""
    toward: bool = True
    """Whether the shade is that of what is right."""
    title: str = ""
    """What is said of it where it is pointed at; an interval is shown."""
    prose: bool = False
    """Whether it holds words, which may take several lines, and no number."""

    @property
    def interval(self) -> str:
        """Its 95 % interval, where the title tells it."""
        return self.title.removeprefix(INTERVAL) if self.title.startswith(INTERVAL) else ""


@dataclass(frozen=True)
class Column:
    """A column of numbers: its heading, the key of each row's mapping, and how it is written."""

    title: str
    key: str
    form: Form = SHARE


@dataclass(frozen=True)
class Grid:
    """A table with its numbers, ready to be shown."""

    columns: Sequence[str]
    """Headings, the first that of the rows' names."""
    rows: Sequence[Sequence[Cell]]
    shown: int | None = None
    """Rows that are shown at once, the others on demand; None: all."""
    note: str = ""
    """A sentence about these rows."""
    brief: Sequence[str] = ()
    """Headings of the columns that a terminal shows, in a table of its own; empty: all, a line a row."""


@dataclass(frozen=True)
class Table:
    """Numbers that belong together, a row a thing."""

    key: str
    """Where `results.json` has them."""
    fields: str
    """The same with what is under it, as the documentation writes it: `per_class.<label>.{precision,recall}`."""
    title: str
    meaning: str
    grid: Callable[[Results], Grid | None]
    brief: int = 0
    """Rows that a terminal shows; 0: none."""

    def read(self, results: Results) -> Grid | None:
        """The table; None if it was not measured."""
        grid = self.grid(results)
        return grid if grid is not None and grid.rows else None


def rows_of(
    key: str, name: str, columns: Sequence[Column], title: Callable[[str], str] = str
) -> Callable[[Results], Grid | None]:
    """How a mapping of mappings is read as a table: a row a name under `key`, the columns that any row has."""

    def grid(results: Results) -> Grid | None:
        found = find(results, key)
        if not isinstance(found, Mapping):
            return None
        having = [column for column in columns if any(is_number((row or {}).get(column.key)) for row in found.values())]
        rows = [
            [Cell(title(row_name)), *(Cell(column.form.show((row or {}).get(column.key))) for column in having)]
            for row_name, row in found.items()
        ]
        return Grid([name, *(column.title for column in having)], rows)

    return grid


@dataclass(frozen=True)
class Line:
    """A line of a drawing."""

    name: str
    points: Sequence[tuple[float, float]]
    quiet: bool = False
    """Drawn as what the others are compared with."""


@dataclass(frozen=True)
class Curves:
    """Lines over one axis, and levels across it."""

    x: str
    y: str
    lines: Sequence[Line]
    levels: Mapping[str, float] = field(default_factory=dict)
    log_x: bool = False


@dataclass(frozen=True)
class Histogram:
    """How many things have how much of something."""

    x: str
    y: str
    edges: Sequence[float]
    counts: Sequence[float]
    marks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bars:
    """Numbers of several things side by side."""

    x: str
    groups: Sequence[str]
    bars: Mapping[str, Sequence[float]]
    """By what is compared, a number a group."""
    y: str = ""


@dataclass(frozen=True)
class Scatter:
    """Things by two numbers, a dot each."""

    x: str
    y: str
    dots: Sequence[tuple[float, float]]
    diagonal: str = ""
    """What the line on which both numbers are equal is called; empty: there is none."""


Content = Curves | Histogram | Bars | Scatter
"""What can be drawn."""


@dataclass(frozen=True)
class Drawing:
    """A picture of some results."""

    name: str
    title: str
    caption: str
    read: Callable[[Results], Content | None]
    """What to draw; None if it was not measured."""
