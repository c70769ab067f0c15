"""Accuracy, active tokens and grounding: `python -m splade.scripts.run_frontier --config experiments/frontier.yaml`."""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "frontier")
