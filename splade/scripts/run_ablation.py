"""Each circuit loss off in turn.

`python -m splade.scripts.run_ablation --config experiments/ablation/ablation.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "ablation")
