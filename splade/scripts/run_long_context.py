"""The needle test, and what length costs.

`python -m splade.scripts.run_long_context --config experiments/long_context.yaml`
"""

from __future__ import annotations

import typer

from splade.studies.commands import long_context

if __name__ == "__main__":
    typer.run(long_context)
