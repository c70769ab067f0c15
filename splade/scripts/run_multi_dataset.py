"""One config on several data sets.

`python -m splade.scripts.run_multi_dataset --config experiments/paper/multi_dataset.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "multi_dataset")
