"""The history of a training, `metrics.jsonl`: a line every few steps and one a validation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from splade.utils.atomic import write_text


class History:
    """The lines of one run, added as they come; without a file, nothing is written."""

    def __init__(self, path: Path | None):
        self.path = path

    def begin(self, lines: Iterable[dict[str, Any]] = ()) -> None:
        """Forget an earlier run and begin with these lines."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        for line in lines:
            self.write(line)

    def write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def cut(self, step: int) -> None:
        """Drop the lines of steps after `step`, which will be run again."""
        if self.path is not None and self.path.exists():
            lines = [line for line in self.path.read_text().splitlines() if line.endswith("}") and _step(line) <= step]
            write_text(self.path, "".join(line + "\n" for line in lines))


def _step(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except ValueError:  # a line cut short by a kill
        return float("inf")
