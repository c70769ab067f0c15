"""ReLU heads against B-cos heads: `python -m splade.scripts.run_bcos_ablation --config experiments/paper/sst2.yaml`."""

from __future__ import annotations

import typer

from splade.studies.commands import bcos_ablation

if __name__ == "__main__":
    typer.run(bcos_ablation)
