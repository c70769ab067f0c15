"""What was measured before: results kept a file a measure, so that none is measured twice and a stopped run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from splade.config.variants import declarations
from splade.evaluation.measure import Measure, Scope
from splade.utils.atomic import write_json

NOT_MEASURED_BY = ("measures", "dense_baseline", "explain_samples")
"""Settings of `evaluation` that choose what is done and change no figure."""

PART = ".part-"
"""Stands between a measure's name and that of a part in the name of a file."""


def remove_measured(folder: Path, measures: Iterable[str]) -> None:
    """Remove what some measures have left in a folder, and nothing else that somebody may have put there."""
    for name in measures:
        for file in (folder / f"{name}.json", *folder.glob(f"{name}{PART}*.json")):
            file.unlink(missing_ok=True)


class Memory:
    """Results in a folder, each good for one model, one split and the settings it was measured with."""

    def __init__(self, folder: Path, model: str, data: str):
        """`model` and `data`: hashes of what is measured, and on what."""
        self.folder, self.model, self.data = folder, model, data

    def recall(self, measure: type[Measure[Any]], scope: Scope) -> Any | None:
        """What a measure found; None if it was not asked, or of something else."""
        try:
            kept = json.loads(self._file(measure).read_text(encoding="utf-8"))
            if kept["of"] != self._key(measure, scope):
                return None
            return TypeAdapter(measure.result_type()).validate_python(kept["result"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none, or not whole: measured again
            return None

    def keep(self, measure: type[Measure[Any]], scope: Scope, result: Any) -> None:
        """Remember what a measure found."""
        self.folder.mkdir(parents=True, exist_ok=True)
        values = TypeAdapter(measure.result_type()).dump_python(result, mode="json")  # keys as exact as values
        write_json(self._file(measure), {"of": self._key(measure, scope), "result": values})
        self.parts(measure, scope).forget()

    def parts(self, measure: type[Measure[Any]], scope: Scope) -> KeptParts:
        """Where a slow measure keeps what it has found so far."""
        return KeptParts(self.folder, measure.name, self._key(measure, scope))

    def _file(self, measure: type[Measure[Any]]) -> Path:
        return self.folder / f"{measure.name}.json"

    def _key(self, measure: type[Measure[Any]], scope: Scope) -> str:
        """Everything that a figure follows from."""
        without = {*NOT_MEASURED_BY, *_settings_of_others(measure, scope)}
        settings = {key: value for key, value in asdict(scope.config).items() if key not in without}
        of = [
            self.model,
            self.data,
            measure.name,
            measure.version,
            measure.sources(scope),
            scope.share,
            scope.seed,
            settings,
        ]
        return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


class KeptParts:
    """What a measure has found so far, a file a part; gone once the whole is kept."""

    def __init__(self, folder: Path, measure: str, key: str):
        self.folder, self.measure, self.key = folder, measure, key

    def recall(self, name: str) -> Any | None:
        try:
            kept = json.loads(self._file(name).read_text(encoding="utf-8"))
            return kept["result"] if kept["of"] == self.key else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none, or not whole: measured again
            return None

    def keep(self, name: str, value: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self._file(name), {"of": self.key, "result": value})

    def forget(self) -> None:
        """Remove the parts of a whole that is kept."""
        for file in self.folder.glob(f"{self.measure}{PART}*.json"):
            file.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.folder / f"{self.measure}{PART}{name}.json"


def _settings_of_others(measure: type[Measure[Any]], scope: Scope) -> list[str]:
    """Names of the settings that other measures have declared for themselves."""
    others = [one for one in declarations(type(scope.config)) if one.settings is not measure.Settings]
    return [name for one in others for name in one.fields]
