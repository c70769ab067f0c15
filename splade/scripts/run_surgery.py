"""A biased model, its words removed, and what else could be done, side by side.

`python -m splade.scripts.run_surgery --config experiments/surgery.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "surgery")
