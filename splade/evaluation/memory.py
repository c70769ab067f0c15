"""What was measured before: results kept a file a measure, so that none is measured twice and a stopped run goes on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from splade.config.variants import declarations
from splade.evaluation.measure import Measure, Scope
from splade.utils.atomic import write_json

NOT_MEASURED_BY = ("measures", "dense_baseline", "explain_samples")
"""Settings of `evaluation` that choose what is done and change no figure."""


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

    def _file(self, measure: type[Measure[Any]]) -> Path:
        return self.folder / f"{measure.name}.json"

    def _key(self, measure: type[Measure[Any]], scope: Scope) -> str:
        """Everything that a figure follows from."""
        without = {*NOT_MEASURED_BY, *_settings_of_others(measure, scope)}
        settings = {key: value for key, value in asdict(scope.config).items() if key not in without}
        of = [
            *(self.model, self.data, measure.name, measure.version, measure.sources(scope)),
            *(scope.share, scope.seed, measure.needs_frozen and scope.frozen is not None, settings),
        ]
        return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def _settings_of_others(measure: type[Measure[Any]], scope: Scope) -> list[str]:
    """Names of the settings that other measures have declared for themselves."""
    others = [one for one in declarations(type(scope.config)) if one.settings is not measure.Settings]
    return [name for one in others for name in one.fields]
