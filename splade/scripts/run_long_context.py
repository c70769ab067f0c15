"""The needle test, and what length costs.

`python -m splade.scripts.run_long_context --config experiments/long_context.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "long_context")
