"""What was measured before: results kept a file a measure and setting.

So none is measured twice, whoever goes back to an earlier setting is answered at once, and a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
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
"""Stands between a measure with its key and the name of a part in the name of a file."""

KEY = 16
"""Characters of a key in the name of a file, which holds the whole of it."""


def remove_measured(folder: Path, measures: Iterable[str]) -> None:
    """Remove what some measures have left in a folder, and nothing else that somebody may have put there."""
    for name in measures:
        ours = re.compile(rf"{re.escape(name)}(-[0-9a-f]{{{KEY}}})?({re.escape(PART)}.*)?\.json")  # once without a key
        for file in folder.glob(f"{name}*.json"):
            if ours.fullmatch(file.name):
                file.unlink(missing_ok=True)


class Memory:
    """Results in a folder, each good for one model, one split and the settings it was measured with."""

    def __init__(self, folder: Path, model: str, data: str):
        """`model` and `data`: hashes of what is measured, and on what."""
        self.folder, self.model, self.data = folder, model, data

    def recall(self, measure: type[Measure[Any]], scope: Scope) -> Any | None:
        """What a measure found; None if it was not asked, or of something else."""
        try:
            key = self._key(measure, scope)
            kept = json.loads(self._file(measure, key).read_text(encoding="utf-8"))
            if kept["of"] != key:
                return None
            return TypeAdapter(measure.result_type()).validate_python(kept["result"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none, or not whole: measured again
            return None

    def keep(self, measure: type[Measure[Any]], scope: Scope, result: Any) -> None:
        """Remember what a measure found."""
        self.folder.mkdir(parents=True, exist_ok=True)
        values = TypeAdapter(measure.result_type()).dump_python(result, mode="json")  # keys as exact as values
        key = self._key(measure, scope)
        write_json(self._file(measure, key), {"of": key, "result": values})
        self.parts(measure, scope).forget()

    def parts(self, measure: type[Measure[Any]], scope: Scope) -> KeptParts:
        """Where a slow measure keeps what it has found so far."""
        return KeptParts(self.folder, measure.name, self._key(measure, scope))

    def _file(self, measure: type[Measure[Any]], key: str) -> Path:
        return self.folder / f"{_stem(measure.name, key)}.json"

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

    def count(self) -> int:
        """How many parts there are."""
        return len(self._files())

    def forget(self) -> None:
        """Remove the parts of a whole that is kept."""
        for file in self._files():
            file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return list(self.folder.glob(f"{_stem(self.measure, self.key)}{PART}*.json"))

    def _file(self, name: str) -> Path:
        return self.folder / f"{_stem(self.measure, self.key)}{PART}{name}.json"


def _stem(measure: str, key: str) -> str:
    """How the names of the files begin that hold what a measure found under a key."""
    return f"{measure}-{key[:KEY]}"


def _settings_of_others(measure: type[Measure[Any]], scope: Scope) -> list[str]:
    """Names of the settings that other measures have declared for themselves."""
    others = [one for one in declarations(type(scope.config)) if one.settings is not measure.Settings]
    return [name for one in others for name in one.fields]
