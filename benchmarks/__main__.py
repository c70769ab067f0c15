"""Run the benchmarks, print a table each and write `results/benchmarks.json`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import cold, encode, explain, projection, serve, training, whole
from benchmarks.measure import Result
from splade.errors import LexicalSAEError

BENCHMARKS: dict[str, Callable[..., list[Result]]] = {
    "projection": projection.run,
    "training": training.run,
    "encode": encode.run,
    "explain": explain.run,
    "serve": serve.run,
    "cold": cold.run,
    "whole": whole.run,
}
ONLY_BY_NAME = {"whole"}  # an hour
OUTPUT = Path("results/benchmarks.json")


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"which to run: {', '.join(BENCHMARKS)} (all but whole trainings)"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="measured calls of each rival (7); whole trainings are done once"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"where the figures go ({OUTPUT})")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark '{name}'; the choices are: {', '.join(BENCHMARKS)}")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, but a measurement needs at least 1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # everything measured is local; read by the processes started below
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # said outright, so that every rival does the same
    console = Console()
    for name in options.names or [name for name in BENCHMARKS if name not in ONLY_BY_NAME]:
        try:
            results = BENCHMARKS[name](rounds=options.rounds)
        except LexicalSAEError as error:
            Console(stderr=True).print(str(error), markup=False, highlight=False)
            return 2
        for result in results:
            show(result, console)
        save(name, results, options.output)
    console.print(f"Figures: {options.output}", highlight=False)
    return 0


def show(result: Result, console: Console) -> None:
    """The measurements as a table, and below it each goal with what was reached."""
    setting = ", ".join(f"{name} {value}" for name, value in result.setting.items())
    left = {"title_justify": "left", "caption_justify": "left"}
    table = Table(title=result.title, caption=setting, box=box.SIMPLE_HEAD, **left)  # type: ignore[arg-type]
    table.add_column("", no_wrap=True)
    facts = list(dict.fromkeys(name for each in result.measurements for name in each.facts))
    for heading in ["seconds", "memory + MB", "peak MB", *(name.replace("_", " ") for name in facts)]:
        table.add_column(heading, justify="right")
    for each in result.measurements:
        figures = [f"{each.median:.3f}", f"{each.growth_mb:.0f}", f"{each.peak_mb:.0f}"]
        table.add_row(each.name, *figures, *(f"{each.facts[name]:.1f}" if name in each.facts else "" for name in facts))
    console.print(table)
    for goal in (each.to_json() for each in result.goals):
        verdict = "[green]met[/]" if goal["met"] else "[red]missed[/]"
        console.print(
            f"  {goal['what']}: [bold]{goal['value']:.2f}[/] (goal {goal['goal']}) {verdict}", highlight=False
        )
    console.print()


def save(name: str, results: list[Result], path: Path) -> None:
    """Write one benchmark's figures, leaving those of the others that the file already has."""
    figures: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    figures[name] = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "results": [result.to_json() for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
