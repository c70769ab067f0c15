"""A study of variations from end to end: run, table, plots, `results.json`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from splade.config.schema import Config
from splade.studies.plots import draw_frontier, draw_variations, grounded
from splade.studies.study import run_study
from splade.studies.summary import Row, columns, measured, study_rows, summary
from splade.studies.tables import cells_of, interval_note, leave_table
from splade.studies.variations import variations_of
from splade.utils.atomic import write_json

FRONTIER = "frontier"


def compare(name: str, config: Config, *, overwrite: bool, console: Console, out: Console) -> Path:
    """Run a study of variations and leave `results.json`, `table.md` and its plots; the folder they are in."""
    run = run_study(name, config, variations_of(name, config), overwrite=overwrite, console=console)
    rows = study_rows(run)
    figures = measured(rows, columns(config.task))
    headings, cells = cells_of(rows, figures, "variation")
    notes = [*interval_note(rows), *run.notes]
    leave_table(run.folder, out, f"{config.experiment_name}: {name}", headings, cells, notes)
    draw_variations(run.folder, name if name != FRONTIER else "figures", rows, figures)
    if name == FRONTIER:
        draw_frontier(run.folder, FRONTIER, rows)
    write_json(run.folder / "results.json", summary(run, rows, _extra))
    return run.folder


def _extra(row: Row) -> dict[str, float]:
    share = grounded(row)
    return {} if share is None else {"grounded": share}
