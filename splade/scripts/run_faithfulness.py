"""Explanations held against what deleting words does, and against LIME, integrated gradients and the rest.

`python -m splade.scripts.run_faithfulness --config experiments/civilcomments.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "faithfulness")
