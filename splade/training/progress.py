"""The progress bar of a training, and plain lines where there is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_LINES = 20
"""Lines a run prints where there is no terminal to redraw a bar on."""


class TrainingProgress:
    """loss, CE against τ, λ, active tokens, words a second, time left."""

    def __init__(self, console: Console, title: str, total: int, start: int):
        self.console, self.total, self.start = console, total, start
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[figures]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console,
            )
            self._task = self._bar.add_task(title, total=total, completed=start, figures="")
        self._every = max(1, total // PLAIN_LINES)

    def __enter__(self) -> TrainingProgress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, step: int, row: dict[str, Any]) -> None:
        """Show a row of `metrics.jsonl` after `step` steps."""
        tau = "" if row.get("tau") is None else f"/τ {row['tau']:.3f} λ {row['lambda']:.2f}"
        active = f" active {row['active']:.0f}" if row.get("active") else ""
        figures = f"loss {row['loss']:.3f} ce {row['ce']:.3f}{tau}{active} {row['words_per_second']:.0f} words/s"
        if self._bar:
            self._bar.update(self._task, completed=step, figures=figures)
        elif step % self._every == 0 or step == self.total:
            left = row["seconds"] / step * (self.total - step)  # seconds and steps before an interruption included
            self.say(f"{row['phase']} {step}/{self.total} {figures}, {left:.0f} s left")

    def say(self, sentence: str) -> None:
        """Print above the bar."""
        console = self._bar.console if self._bar else self.console
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)
