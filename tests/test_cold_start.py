"""What a command loads before it answers: seconds of imports that it does not need are seconds that someone waits."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.runs import ToyRun

RUN = """
import gc, sys
from splade.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
finally:
    print(*sys.modules, "frozen" if gc.get_freeze_count() else "", file=sys.stderr)
"""

# Libraries that only training, measuring or drawing needs, and what of our own brings them along.
NOT_TO_PREDICT = {
    *("captum", "datasets", "lime", "matplotlib", "pandas", "pyarrow", "schedulefree", "scipy", "seqeval", "sklearn"),
    "torchvision",
    *("splade.pipelines", "splade.training.loop", "splade.evaluation.measures", "splade.reporting.report"),
}

# What takes more than a tenth of a second.
NOT_TO_HELP = {"numpy", "torch", "transformers", *NOT_TO_PREDICT}


def loaded(*arguments: object) -> set[str]:
    """The modules of a new process that has run a command."""
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_prediction_loads_what_it_needs(toy_run: ToyRun, command: str) -> None:
    found = loaded(command, "--model", toy_run.folder / "model", "a charming film")
    assert "torch" in found and sorted(found & NOT_TO_PREDICT) == []
    assert "frozen" in found  # or the garbage collector would go through all of it again and again


def test_a_tagger_loads_what_it_needs(toy_tagger: ToyRun) -> None:
    found = loaded("predict", "--model", toy_tagger.folder / "model", "john saw london")
    assert "torch" in found and sorted(found & NOT_TO_PREDICT) == []


@pytest.mark.parametrize("command", [["--help"], ["predict", "--help"], ["train", "--help"], ["study", "--help"]])
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    assert sorted(loaded(*command) & NOT_TO_HELP) == []
