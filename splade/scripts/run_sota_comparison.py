"""This model beside the dense head and linear glass boxes.

`python -m splade.scripts.run_sota_comparison --config experiments/sst2_minilm.yaml`
"""

from __future__ import annotations

import typer

from splade.studies.commands import sota_comparison

if __name__ == "__main__":
    typer.run(sota_comparison)
