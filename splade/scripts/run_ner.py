"""Train and measure a tagger: `python -m splade.scripts.run_ner --config experiments/ner/conll2003.yaml`.

The same as `lexical-sae train`, for settings that need not say `task: tagging`.
"""

from __future__ import annotations

from splade.__main__ import run_command

if __name__ == "__main__":
    run_command("splade.cli.train", "train_tagger")
