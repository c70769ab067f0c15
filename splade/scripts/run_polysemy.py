"""Words in context: do senses and active tokens follow the meaning?

`python -m splade.scripts.run_polysemy --config experiments/polysemy.yaml`
"""

from __future__ import annotations

import typer

from splade.studies.commands import polysemy

if __name__ == "__main__":
    typer.run(polysemy)
