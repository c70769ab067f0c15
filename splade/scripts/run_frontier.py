"""Accuracy, active tokens and grounding: `python -m splade.scripts.run_frontier --config experiments/frontier.yaml`."""

from __future__ import annotations

import typer

from splade.studies.commands import frontier

if __name__ == "__main__":
    typer.run(frontier)
