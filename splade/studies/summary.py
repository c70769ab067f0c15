"""What the runs of a study say together: one row a variation, one column a figure, mean and interval over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splade.reporting.figures import is_number
from splade.studies.intervals import METHOD, Bounds, Spread, spread
from splade.studies.study import StudyRun


@dataclass(frozen=True)
class Figure:
    """A column: how it is called and where `results.json` of a run has it."""

    key: str
    title: str
    path: tuple[str, ...]
    unit: str = ""
    """``%`` shows a share as per cent."""
    digits: int = 1
    log: bool = False
    """Drawn on a logarithmic axis."""
    bounds: Bounds = (0, math.inf)
    """The least and the greatest value that is possible; of a share always 0 and 1."""

    def read(self, results: Mapping[str, Any]) -> float | None:
        """The figure of one run; None if it was not measured."""
        value: Any = results
        for key in self.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return float(value) if is_number(value) else None

    def show(self, value: Spread | None) -> str:
        """`86.5 ± 1.2`, without the second where there is one seed; `98.5 [95.1, 100.0]` where the interval is cut."""
        if value is None:
            return "–"
        scale = 100 if self.unit == "%" else 1
        if self.digits < 0:  # an error of rounding: only its size is of interest
            return f"{max(value.values):.0e}"
        mean = f"{scale * value.mean:.{self.digits}f}"
        if value.half is None or value.ends is None:
            return mean
        if value.cut:
            low, high = (f"{scale * end:.{self.digits}f}" for end in value.ends)
            return f"{mean} [{low}, {high}]"
        return f"{mean} ± {scale * value.half:.{self.digits}f}"

    def over(self, values: Sequence[float]) -> Spread:
        """The figure over several runs."""
        return spread(values, (0, 1) if self.unit == "%" else self.bounds)

    @property
    def heading(self) -> str:
        return f"{self.title}, {self.unit}" if self.unit else self.title


COSINE = (-1, 1)
OF_SIZES = (0, 1)  # no entry is negative, so no cosine is

FIGURES = (
    Figure("accuracy", "accuracy", ("accuracy",), "%"),
    Figure("dense_accuracy", "dense head", ("dense_accuracy",), "%"),
    Figure("f1", "entity F1", ("f1",), "%"),
    Figure("dense_f1", "dense head F1", ("dense_f1",), "%"),
    Figure("active_tokens", "active tokens", ("active_tokens", "mean")),
    Figure("completeness", "accuracy keeping a tenth", ("completeness", "0.1", "accuracy"), "%"),
    Figure("completeness_kl", "KL keeping a tenth", ("completeness", "0.1", "kl"), digits=3),
    Figure("tokens_kl", "KL keeping 3 tokens", ("completeness_tokens", "3", "kl"), digits=3),
    Figure("completeness_entities", "of entity words", ("completeness_entities", "0.1", "accuracy"), "%"),
    Figure("cosine", "cosine between classes", ("separation", "cosine"), digits=2, bounds=COSINE),
    Figure("within_cosine", "cosine within a class", ("separation", "within_cosine"), digits=2, bounds=COSINE),
    Figure("size_cosine", "cosine of sizes between classes", ("separation", "size_cosine"), digits=2, bounds=OF_SIZES),
    Figure(
        "within_size_cosine",
        "cosine of sizes within a class",
        ("separation", "within_size_cosine"),
        digits=2,
        bounds=OF_SIZES,
    ),
    Figure("overlap", "overlap of classes", ("separation", "overlap"), digits=2, bounds=OF_SIZES),
    Figure("input_share", "on words in the text", ("grounding", "input_share"), "%"),
    Figure("rated_share", "on rated words", ("grounding", "lexicon", "coverage"), "%"),
    Figure("right_sign", "of that right sign", ("grounding", "lexicon", "right_sign"), "%"),
    Figure("heaviest_share", "heaviest token", ("grounding", "lexicon", "heaviest_share"), "%"),
    Figure("seconds_per_step", "seconds a step", ("seconds", "per_step"), digits=3),
    Figure("peak_rss_mb", "peak memory", ("peak_rss_mb",), "MB", digits=0),
    Figure("dla_error", "identity error", ("dla", "max_error"), digits=-1),
)


@dataclass(frozen=True)
class Row:
    """One variation."""

    name: str
    figures: dict[str, Spread]
    """By the keys of `Figure`; what was not measured is missing."""
    settings: dict[str, object]


def rows_of(results: Mapping[str, Sequence[Mapping[str, Any]]], figures: Sequence[Figure] = FIGURES) -> list[Row]:
    """A row for each name, over its runs; a name without a finished run has a row without figures."""
    rows = []
    for name, runs in results.items():
        found = {figure: [v for v in map(figure.read, runs) if v is not None] for figure in figures}
        rows.append(Row(name, {figure.key: figure.over(values) for figure, values in found.items() if values}, {}))
    return rows


def study_rows(run: StudyRun) -> list[Row]:
    """The rows of a study of variations, with their settings."""
    settings = {part.variation.name: part.variation.settings for part in run.parts}
    return [Row(row.name, row.figures, settings[row.name]) for row in rows_of(run.results)]


def measured(rows: Sequence[Row], figures: Sequence[Figure] = FIGURES) -> list[Figure]:
    """The columns that any row has."""
    return [figure for figure in figures if any(figure.key in row.figures for row in rows)]


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
