"""Words in context: do senses and active tokens follow the meaning?

`python -m splade.scripts.run_polysemy --config experiments/polysemy.yaml`
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.studies", "polysemy")
