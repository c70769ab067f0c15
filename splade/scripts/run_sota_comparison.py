"""This model beside the dense head and linear glass boxes.

`python -m splade.scripts.run_sota_comparison --config experiments/sst2_minilm.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "sota_comparison")
