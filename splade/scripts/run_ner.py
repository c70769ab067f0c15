"""Train and measure a tagger: `python -m splade.scripts.run_ner --config experiments/ner/conll2003.yaml`.

The same as `lexical-sae train`, for settings that need not say `task: tagging`.
"""

from __future__ import annotations

import typer

from splade.cli import ConfigFile, DryRun, Overwrite, Resume, Sets, kindly, train_with


@kindly
def run_ner(
    config: ConfigFile = None,
    set_: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
) -> None:
    """Train a tagger, measure it on the test split, and leave model, results and report in output_dir."""
    train_with(config, set_, resume=resume, overwrite=overwrite, dry_run=dry_run, task="tagging")


if __name__ == "__main__":
    typer.run(run_ner)
