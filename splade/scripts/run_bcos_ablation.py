"""ReLU heads against B-cos heads: `python -m splade.scripts.run_bcos_ablation --config experiments/paper/sst2.yaml`."""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "bcos_ablation")
