"""A case: a family, a seed, and by them everything it does."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.campaign.verdicts import Outcome, judge
from tests.campaign.workshop import Workshop


@dataclass(frozen=True)
class Trial:
    """What a case is about to do, in a line, and the doing of it in a folder of its own."""

    description: str
    run: Callable[[Path], object]


Draw = Callable[[Random, Workshop], Trial]


@dataclass(frozen=True)
class Family:
    """Cases of one kind; `draw` makes one of them from a random generator and touches nothing yet."""

    name: str
    draw: Draw
    limit: float = 60.0
    """Seconds after which a case has hung."""


@dataclass(frozen=True)
class Case:
    """One case of a family, known by its seed."""

    family: str
    seed: int

    def __str__(self) -> str:
        return f"{self.family}:{self.seed}"

    @classmethod
    def parse(cls, text: str) -> Case:
        family, _, seed = text.rpartition(":")
        return cls(family, int(seed))


@dataclass(frozen=True)
class Result:
    """A case that was run."""

    case: Case
    description: str
    outcome: Outcome
    seconds: float = 0.0


def draw(case: Case, family: Family, workshop: Workshop) -> Trial:
    """The same trial for the same case, always."""
    return family.draw(Random(str(case)), workshop)


def carry_out(trial: Trial, workshop: Workshop) -> Outcome:
    """Run a trial in a folder of its own, which is the working directory too and is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="case_", dir=workshop.folder))
    folder.chmod(0o755)  # some cases are another user for a while
    before = Path.cwd()
    os.chdir(folder)
    try:
        return judge(lambda: trial.run(folder))
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)
