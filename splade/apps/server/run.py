"""The run that a model is from: what `results.json` beside it says, as figures, tables and groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from splade.apps.server.answers import Json
from splade.evaluation.figure import Figure, find, is_number
from splade.evaluation.measures import declared
from splade.reporting.about import about
from splade.reporting.sections import sections, spoken
from splade.run_folder import read_results

USUAL_FOLDER = "model"
"""Where a run leaves its model; what lies beside a folder of another name is not known to be of its model."""

RATES = ("fpr", "fnr")


@dataclass(frozen=True)
class Run:
    """The results of a run; empty where there are none."""

    results: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    """Why there are none."""

    @classmethod
    def beside(cls, folder: Path) -> Run:
        """What lies beside the folder of a model."""
        whole = folder.resolve()
        results = read_results(whole.parent) if whole.name == USUAL_FOLDER else {}
        if not results:
            return cls({}, "There is no results.json of a run beside the model's folder.")
        return cls(results)

    def to_json(self) -> Json:
        """As `/model` has it."""
        if not self.results:
            return {"available": False, "reason": self.reason, "about": [], "figures": [], "findings": []}
        task = str(self.results.get("task"))
        figures = [figure for one in declared(task) for figure in one.figures]
        return {
            "available": True,
            "reason": None,
            "about": [{"name": name, "value": value} for name, value in about(self.results)],
            "figures": [shown for figure in figures if (shown := self._figure(figure)) is not None],
            "findings": [str(finding) for finding in self.results.get("findings") or []],
        }

    def _figure(self, figure: Figure) -> Json | None:
        written = figure.show(self.results)
        if written is None:
            return None
        return {
            "key": figure.key,
            "title": spoken(figure.title, self.results),
            "about": spoken(figure.meaning, self.results),
            "value": figure.read(self.results),
            "shown": written,
            "beside": figure.beside(self.results) if figure.beside is not None else "",
            "better": figure.better,
            "headline": figure.headline,
        }

    def tables(self) -> list[Json]:
        """Every table of the report, as text."""
        found = []
        for section in sections(self.results) if self.results else ():
            for table in section.tables:
                found.append(
                    {
                        "section": section.title,
                        "title": table.title,
                        "about": section.about,
                        "columns": list(table.grid.columns),
                        "rows": [[cell.text for cell in row] for row in table.grid.rows],
                        "note": table.grid.note,
                    }
                )
        return found

    def bias(self) -> Json:
        """Groups and gaps, if they were measured."""
        found = find(self.results, "bias")
        if not isinstance(found, Mapping) or not found.get("groups"):
            return {"measured": False, "groups": []}
        fixed = found.get("fixed") or {}
        return {
            "measured": True,
            "groups": [
                {
                    "name": name,
                    **{key: size.get(key) for key in ("texts", "positives", "negatives")},
                    **{rate: _rate(find(fixed, f"{rate}.groups") or {}, name) for rate in RATES},
                }
                for name, size in found["groups"].items()
            ],
        }

    def circuits(self) -> list[Json]:
        """What the run itself found each label to mean."""
        circuits = find(self.results, "circuits") or {}
        return [
            {
                "label": label,
                "rows": circuit["rows"],
                "words": [
                    {"word": one["token"], "mean": one["mean"], "spread": one["spread"], "rows": one["rows"]}
                    for one in circuit["tokens"]
                ],
            }
            for label, circuit in circuits.items()
        ]


def _rate(groups: Mapping[str, Any], name: str) -> Json | None:
    found = groups.get(name)
    if not found or not found.get("rate"):
        return None
    return {
        "rate": _estimate(found.get("rate")),
        "gap": _estimate(found.get("gap")),
        "p": found.get("p"),
        "detectable": found.get("detectable"),
    }


def _estimate(found: Any) -> Json | None:
    if not isinstance(found, Mapping) or not is_number(found.get("mean")):
        return None
    return {key: found.get(key) for key in ("mean", "low", "high")}
