"""Trainings killed at any moment: what was there is there, and what was begun can be finished, to the same weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from splade import predict_batch
from splade.errors import LexicalSAEError
from splade.models.lexical_sae import LexicalSAE
from tests.campaign.case import Trial
from tests.campaign.cli import INTERRUPTED_CODE, SENTENCE_CODE, Ran, forked
from tests.campaign.moments import Moment, draw_moment
from tests.campaign.verdicts import Crashed, Lost, Wrong, expect
from tests.campaign.workshop import KILLED, Workshop, load, reviews
from tests.runs import weights

GENTLE = ("SIGINT", "SIGINT twice", "SIGTERM")


def draw(rng: Random, workshop: Workshop) -> Trial:
    """A first training, or one that replaces an earlier run, killed once or twice, and then finished."""
    replaces = rng.random() < 0.4
    moments = [draw_moment(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
    shown = f"train{' --overwrite' if replaces else ''}, {', then '.join(map(str, moments))}"
    return Trial(shown, lambda folder: _check(replaces, moments, folder, workshop))


def _check(replaces: bool, moments: list[Moment], folder: Path, workshop: Workshop) -> None:
    out = folder / "out"
    settings = workshop.settings(out, **KILLED)
    if replaces:
        shutil.copytree(workshop.run("earlier"), out)
    flags = ["--overwrite"] if replaces else []
    for moment in moments:
        ran, _ = moment.interrupt(["train", *flags, *settings], folder, workshop)
        check_ending(ran, moment)
        if replaces:
            check_a_model(out, workshop, ("earlier", "reference"))
        flags = ["--resume"] if (out / "checkpoints").exists() else flags
    finish(out, folder, workshop, replaces)


def check_ending(ran: Ran, moment: Moment) -> None:
    """Ctrl-C is exit code 130 (to a shell also: ended by SIGINT), without a traceback; a run may have been faster."""
    if "Traceback" in ran.stderr and (moment.how != "cold" or "/splade/" in ran.stderr):
        raise Crashed(f"a traceback after {moment}: {ran.stderr.strip()[-160:]}")
    endings = {0, SENTENCE_CODE, -moment.number} | ({INTERRUPTED_CODE} if moment.signal in GENTLE else set())
    if ran.code not in endings:
        raise Crashed(f"exit code {ran.code} after {moment}: {ran.stderr.strip()[-160:]}")
    if ran.code == SENTENCE_CODE and ran.refusal is not None and isinstance(ran.refusal, Crashed):
        raise ran.refusal


def check_a_model(out: Path, workshop: Workshop, names: tuple[str, ...]) -> None:
    """Whatever happened, a whole model is there: one of those known by these names."""
    try:
        answers = predict_batch(LexicalSAE.from_pretrained(out / "model"), reviews())
    except (LexicalSAEError, OSError) as error:
        raise Lost(f"no model can be loaded: {error}") from error
    known = [predict_batch(load(workshop.model(name)), reviews()) for name in names]
    expect(answers in known, f"the model is none of {', '.join(names)}")


def finish(out: Path, log: Path, workshop: Workshop, replaces: bool = False) -> None:
    """`--resume`, or where nothing had begun the command as it was, gives the weights of a run that nobody killed."""
    settings = workshop.settings(out, **KILLED)
    tried = []
    for flags in (["--resume"], ["--overwrite"] if replaces else []):
        ran = forked(["train", *flags, *settings], log)
        if ran.code == 0:
            break
        if isinstance(ran.refusal, Crashed):
            raise Crashed(f"{' '.join(flags) or 'a plain start'} afterwards: {ran.refusal}")
        tried.append(str(ran.refusal))
    else:
        raise Wrong(f"the run can neither go on nor begin: {' / '.join(tried)}")
    expect(weights(out) == weights(workshop.run("reference")), "resumed to other weights than the uninterrupted run's")
    check_a_model(out, workshop, ("reference",))
    expect((out / "results.json").is_file() and (out / "report.html").is_file(), "results or report are missing")
    left = [path.name for path in out.rglob("*") if path.name.startswith(".writing_")]
    if left:
        raise Lost(f"left behind: {', '.join(left)}")
