"""What the runs of a study say together: one row a variation, one column a figure, mean and interval over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splade.evaluation.figure import MEAN, MISSING, Form, find, is_number
from splade.evaluation.measures import declared
from splade.reporting.sections import spoken
from splade.studies.intervals import METHOD, Spread, spread
from splade.studies.study import StudyRun


@dataclass(frozen=True)
class Column:
    """A figure of each run of a study."""

    key: str
    """Its name in the results of the study."""
    title: str
    path: str
    """Where `results.json` of a run has it: `active_tokens.mean`."""
    form: Form = MEAN
    log: bool = False
    """Drawn on a logarithmic axis."""
    panel: bool = True
    """Whether it is worth a panel of its own."""

    def read(self, results: Mapping[str, Any]) -> float | None:
        """The figure of one run; None if it was not measured."""
        value = find(results, self.path)
        return float(value) if is_number(value) else None

    def show(self, value: Spread | None) -> str:
        """`86.5 ± 1.2`, without the second where there is one seed; `98.5 [95.1, 100.0]` where the interval is cut."""
        if value is None:
            return MISSING
        if self.form.digits < 0:  # an error of rounding: only its size is of interest
            return f"{max(value.values):.0e}"
        mean = self.form.number(value.mean)
        if value.half is None or value.ends is None:
            return mean
        if value.cut:
            low, high = (self.form.number(end) for end in value.ends)
            return f"{mean} [{low}, {high}]"
        return f"{mean} ± {self.form.number(value.half)}"

    def over(self, values: Sequence[float]) -> Spread:
        """The figure over several runs."""
        return spread(values, self.form.bounds)

    @property
    def heading(self) -> str:
        return f"{self.title}, {self.form.unit}" if self.form.unit else self.title


def columns(task: str) -> list[Column]:
    """What measures declare of a task as columns of studies."""
    return [
        Column(figure.column, spoken(figure.title, {"task": task}), figure.key, figure.form, figure.log, figure.panel)
        for one in declared(task)
        for figure in one.figures
        if figure.column
    ]


@dataclass(frozen=True)
class Row:
    """One variation."""

    name: str
    figures: dict[str, Spread]
    """By the keys of the columns; what was not measured is missing."""
    settings: dict[str, object]


def rows_of(results: Mapping[str, Sequence[Mapping[str, Any]]], columns: Sequence[Column]) -> list[Row]:
    """A row for each name, over its runs; a name without a finished run has a row without figures."""
    rows = []
    for name, runs in results.items():
        values = {column: [v for v in map(column.read, runs) if v is not None] for column in columns}
        rows.append(Row(name, {column.key: column.over(those) for column, those in values.items() if those}, {}))
    return rows


def study_rows(run: StudyRun) -> list[Row]:
    """The rows of a study of variations, with their settings."""
    settings = {part.variation.name: part.variation.settings for part in run.parts}
    return [Row(row.name, row.figures, settings[row.name]) for row in rows_of(run.results, columns(run.config.task))]


def measured(rows: Sequence[Row], columns: Sequence[Column]) -> list[Column]:
    """The columns that any row has."""
    return [column for column in columns if any(column.key in row.figures for row in rows)]


def summary(run: StudyRun, rows: Sequence[Row], extra: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
    """`results.json` of a study; ``extra`` gives further entries of a variation."""
    folders: dict[str, list[str]] = {}
    for part in run.finished:
        folders.setdefault(part.variation.name, []).append(part.folder.relative_to(run.folder).as_posix())
    return {
        "study": run.name,
        "experiment_name": run.config.experiment_name,
        "seeds": sorted({part.config.seed for part in run.parts}),
        "interval": METHOD,
        "variations": [
            {
                "name": row.name,
                "settings": row.settings,
                "runs": folders.get(row.name, []),
                "figures": {key: value.to_json() for key, value in row.figures.items()},
                **extra(row),
            }
            for row in rows
        ],
        "notes": run.notes,
    }
