"""Train and measure a tagger: `python -m splade.scripts.run_ner --config experiments/ner/conll2003.yaml`.

The same as `lexical-sae train`, for settings that need not say `task: tagging`.
"""

from __future__ import annotations

import typer

from splade.cli import train_command

run_ner = train_command(
    "Train a tagger, measure it on the test split, and leave model, results and report in output_dir.", task="tagging"
)

if __name__ == "__main__":
    typer.run(run_ner)
