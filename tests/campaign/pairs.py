"""Two processes at once with one output_dir: one goes on, the other is told, and nothing is mixed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from random import Random

from tests.campaign.case import Trial
from tests.campaign.cli import Ran, start
from tests.campaign.kills import check_a_model, finish
from tests.campaign.verdicts import Crashed, Wrong, expect
from tests.campaign.workshop import KILLED, Workshop
from tests.runs import weights

#: What the second process is asked to do while the first one trains.
SECONDS = ["train", "train", "train --overwrite", "train --resume", "evaluate", "predict", "a stale lock"]


def draw(rng: Random, workshop: Workshop) -> Trial:
    """The second starts at once or at any share of the first one's life."""
    second, later = rng.choice(SECONDS), rng.choice([0.0, 0.02, rng.uniform(0, 1)])
    if second == "a stale lock":
        return Trial(
            f"a lock whose owner is dead and whose number another process has, from {later:.0%}",
            lambda folder: _stale(later, folder, workshop),
        )
    return Trial(f"train, and {second} at {later:.0%} of it", lambda folder: _check(second, later, folder, workshop))


def _check(second: str, later: float, folder: Path, workshop: Workshop) -> None:
    out = folder / "out"
    settings = workshop.settings(out, **KILLED)
    reads = second in ("evaluate", "predict")
    if reads:
        shutil.copytree(workshop.run("earlier"), out)
    first = start(["train", *(["--overwrite"] if reads else []), *settings], folder)
    time.sleep(later * workshop.run_seconds)
    texts = ["--", "good film"] if second == "predict" else []
    arguments = [second, "--model", out / "model", *texts] if reads else [*second.split(), *settings]
    other = start(arguments, folder)
    ended = [first.ended(), other.ended()]
    for ran in ended:
        if isinstance(ran.refusal, Crashed):
            raise ran.refusal
    if reads:
        expect(ended[0].code == 0, f"the training was stopped by a reader: {ended[0].refusal}")
        expect(ended[1].code == 0, f"a reader was refused while a model was there: {ended[1].refusal}")
        return
    expect(any(ran.code == 0 for ran in ended), f"none of the two went on: {ended[0].refusal} / {ended[1].refusal}")
    if second == "train":
        expect(not all(ran.code == 0 for ran in ended), "both went on")
    _check_history(out, ended)
    check_a_model(out, workshop, ("reference",))
    expect(weights(out) == weights(workshop.run("reference")), "other weights than those of one run alone")


def _check_history(out: Path, ended: list[Ran]) -> None:
    """The steps of one run, in order."""
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    if steps != sorted(steps):
        raise Wrong(f"metrics.jsonl is mixed: steps {steps}")


def _stale(later: float, folder: Path, workshop: Workshop) -> None:
    """The owner was killed, and its process number is now another's, as after a restart of the machine."""
    out = folder / "out"
    owner = start(["train", *workshop.settings(out, **KILLED)], folder)
    time.sleep(later * workshop.run_seconds)
    owner.kill(signal.SIGKILL)
    owner.ended()
    for lock in [path for path in out.rglob("*") if "lock" in path.name and path.is_file()]:
        lock.write_text(lock.read_text(errors="replace").replace(str(owner.pid), str(os.getppid())))
    finish(out, folder, workshop)
