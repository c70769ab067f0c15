"""The campaign's command: `python -m tests.campaign`; by hand `--cases 5000 --kills 200`."""

from __future__ import annotations

import os
import tempfile

# Before any library reads them.
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
os.environ["LEXICAL_SAE_CACHE"] = tempfile.mkdtemp(prefix="lexical-sae-cache-")  # nobody's figures of before

import atexit
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

# Once, here, so that every fork has them.
import datasets  # noqa: F401
import matplotlib.pyplot  # noqa: F401
import pyarrow.parquet  # noqa: F401
import sklearn.metrics  # noqa: F401
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import splade.pipelines  # noqa: F401
from tests.campaign.case import Case, Result
from tests.campaign.families import FAMILIES, plan
from tests.campaign.report import failures, print_failures, print_table, write_json
from tests.campaign.verdicts import FAILURES
from tests.campaign.workers import run_all
from tests.campaign.workshop import build

atexit.register(shutil.rmtree, os.environ["LEXICAL_SAE_CACHE"], ignore_errors=True)
torch.set_num_threads(1)


def campaign(
    cases: Annotated[int, typer.Option(min=0, help="Cases of the quick families together.")] = 600,
    kills: Annotated[int, typer.Option(min=0, help="Runs killed; full disks and pairs are a tenth as many.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another campaign.")] = 0,
    families: Annotated[str, typer.Option(help=f"Only these, of {','.join(FAMILIES)}.")] = "",
    minutes: Annotated[float, typer.Option(min=0, help="Begin no case after so long.")] = float("inf"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = os.cpu_count() or 1,
    only: Annotated[list[str] | None, typer.Option(help="Run this case alone: FAMILY:SEED. May be repeated.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every case to this file.")] = None,
) -> None:
    """Fuzz the whole program, judge every case, and succeed only if nothing is wrong, lost, hung or a traceback."""
    console, began = Console(), time.monotonic()
    chosen = [name for name in families.split(",") if name] or list(FAMILIES)
    if unknown := [name for name in chosen if name not in FAMILIES]:
        raise typer.BadParameter(f"{', '.join(unknown)}: the families are {', '.join(FAMILIES)}.")
    planned = [Case.parse(each) for each in only] if only else plan(chosen, cases, kills, seed)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="campaign_") as folder, _bar(console) as progress:
        task = progress.add_task("making models", total=len(planned))
        workshop = build(Path(folder))
        progress.update(task, description="cases", refresh=True)
        for result in run_all(planned, FAMILIES, workshop, jobs, began + 60 * minutes):
            results.append(result)
            failed = sum(each.outcome.verdict in FAILURES for each in results)
            progress.update(task, advance=1, description=f"cases, {failed} failed", refresh=True)
    print_table(results, console)
    print_failures(results, console)
    if only:
        for result in results:
            console.print(
                f"{result.case}: {result.description}\n  {result.outcome.verdict.value} {result.outcome.detail}"
            )
    if json_file is not None:
        write_json(json_file, results, seed=seed, seconds=time.monotonic() - began)
    failed, left = len(failures(results)), len(planned) - len(results)
    console.print(
        f"\n{len(results)} cases in {time.monotonic() - began:.0f} s, {failed} failed"
        + (f", {left} not begun." if left else ".")
    )
    sys.exit(bool(failed))


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Not refreshed by a thread of its own, whose locks a fork might find closed.
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal, auto_refresh=False)


if __name__ == "__main__":
    typer.run(campaign)
