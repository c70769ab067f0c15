"""Train and evaluate one experiment: `python -m splade.scripts.run_experiment --config experiments/paper/imdb.yaml`."""

from __future__ import annotations

import typer

from splade.cli import train

if __name__ == "__main__":
    typer.run(train)
