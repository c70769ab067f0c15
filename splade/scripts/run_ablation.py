"""Each circuit loss off in turn.

`python -m splade.scripts.run_ablation --config experiments/ablation/ablation.yaml`
"""

from __future__ import annotations

import typer

from splade.studies.commands import ablation

if __name__ == "__main__":
    typer.run(ablation)
