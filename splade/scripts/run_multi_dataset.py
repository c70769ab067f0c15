"""One config on several data sets.

`python -m splade.scripts.run_multi_dataset --config experiments/paper/multi_dataset.yaml`
"""

from __future__ import annotations

import typer

from splade.studies.commands import multi_dataset

if __name__ == "__main__":
    typer.run(multi_dataset)
