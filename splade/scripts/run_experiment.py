"""Train and evaluate one experiment: `python -m splade.scripts.run_experiment --config experiments/paper/imdb.yaml`."""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.train", "train")
