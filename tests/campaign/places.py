"""Places to save to: a save replaces what a save wrote and touches nothing else, wherever it is sent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from splade import predict_batch
from splade.errors import LexicalSAEError
from splade.evaluation.measures import MEASURES
from splade.models.lexical_sae import LexicalSAE
from tests.campaign.case import Trial
from tests.campaign.cli import invoke
from tests.campaign.trees import check_kept, check_tidy, tree
from tests.campaign.verdicts import Ended, Lost, expect, must_refuse
from tests.campaign.workshop import KILLED, Workshop, load, reviews

MODEL_FILES = ("lexical_sae.json", "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")
RUN_FILES = ("results.json", "metrics.jsonl", "report.html", "README.md", "config.yaml")
NOBODY = 65534  # who may not write where a user may not

#: What stands at the place, made there by each function; the names say what may happen.
Make = Callable[[Path, Workshop], None]


def _mine(place: Path, workshop: Workshop) -> None:
    """The user's own files, some called as a run's are."""
    (place / "data" / "model").mkdir(parents=True)
    for name in ("thesis.txt", "README.md", "report.html", "config.yaml", "results.json", "data/train.csv"):
        (place / name).write_text(f"my own {name}\n")


def _thesis(place: Path, workshop: Workshop) -> None:
    place.mkdir(parents=True)
    (place / "thesis.txt").write_text("three years of work\n")


def _readme(place: Path, workshop: Workshop) -> None:
    place.mkdir(parents=True)
    for name in ("README.md", "report.html", "config.yaml"):
        (place / name).write_text("mine\n")


def _model(place: Path, workshop: Workshop) -> None:
    shutil.copytree(workshop.model("earlier"), place)


def _model_and_mine(place: Path, workshop: Workshop) -> None:
    _model(place, workshop)
    (place / "thesis.txt").write_text("beside the model\n")
    (place / "notes").mkdir()
    (place / "notes" / "a.txt").write_text("a\n")


def _run(place: Path, workshop: Workshop) -> None:
    shutil.copytree(workshop.run("earlier"), place)


def _run_and_mine(place: Path, workshop: Workshop) -> None:
    _run(place, workshop)
    (place / "thesis.txt").write_text("beside the run\n")
    (place / "model" / "notes.txt").write_text("within the model\n")


def _foreign(place: Path, workshop: Workshop) -> None:
    """A model of another tool: the backbone, as transformers saves it."""
    shutil.copytree(workshop.backbone, place)


def _foreign_parts(place: Path, workshop: Workshop) -> None:
    """Folders of another tool with the names of ours."""
    for name in ("model", "dense", "checkpoints", "measures"):
        (place / name).mkdir(parents=True)
        (place / name / "weights.bin").write_text("another tool's\n")


def _file(place: Path, workshop: Workshop) -> None:
    place.write_text("a file\n")


def _link_to(make: Make) -> Make:
    def link(place: Path, workshop: Workshop) -> None:
        make(place.with_name("target"), workshop)
        place.symlink_to("target")

    return link


THERE: dict[str, Make] = {
    "nothing": lambda place, workshop: None,
    "an empty folder": lambda place, workshop: place.mkdir(),
    "the user's files": _mine,
    "a thesis": _thesis,
    "a README, a report and a config": _readme,
    "an earlier model": _model,
    "an earlier model and the user's files": _model_and_mine,
    "an earlier run": _run,
    "an earlier run and the user's files": _run_and_mine,
    "another tool's model": _foreign,
    "another tool's folders": _foreign_parts,
    "a file": _file,
    "a link to an empty folder": _link_to(lambda place, workshop: place.mkdir()),
    "a link to the user's files": _link_to(_mine),
    "a link to an earlier model": _link_to(_model),
    "a broken link": lambda place, workshop: place.symlink_to("nowhere"),
    "a link to itself": lambda place, workshop: place.symlink_to(place.name),
}
#: How the place may be written, from a working directory beside it or within.
ODD_NAMES = ["here", "a b", "ä漢", "-x", "a'b\"", "%s", "{x}", "x" * 250, "here."]
NOWHERE = ["/proc/foo", "/dev/null", "/dev/null/x", "x" * 300, "a\0b", "/sys/foo"]


def draw(rng: Random, workshop: Workshop) -> Trial:
    """A save by Python, mostly; one in four is a training."""
    action = rng.choice(["save", "save", "save", rng.choice(["train", "train --overwrite", "train --dry-run"])])
    if rng.random() < 0.12:
        path = rng.choice(NOWHERE)
        return Trial(
            f"{action} to {path!r:.40}",
            lambda _: must_refuse(lambda: _act(action, path, workshop), f"the place {path!r:.40}"),
        )
    there, name = rng.choice(list(THERE)), rng.choice(ODD_NAMES) if rng.random() < 0.25 else "here"
    spelling = rng.choice(["absolute", "relative", "../", ".", "/", "missing parent", "read-only", "below"])
    return Trial(
        f"{action} over {there} ({spelling}, {name!r:.20})",
        lambda folder: _check(action, there, spelling, name, folder, workshop),
    )


def _check(action: str, there: str, spelling: str, name: str, folder: Path, workshop: Workshop) -> None:
    desk = folder / "desk"
    desk.mkdir()
    (desk / "diary.txt").write_text("beside it\n")
    place = desk / name
    THERE[there](place, workshop)
    os.chdir(desk)
    given: Path | str = place
    match spelling:
        case "relative":
            given = name
        case "/":
            given = f"{name}/"
        case "missing parent":
            given = place.with_name("new") / "deep" / name
        case "below":
            given = place / "below"
        case "." | "../" if place.is_dir():
            os.chdir(place)
            given = "." if spelling == "." else f"../{name}"
    load(workshop.model("named"))  # while it may be read
    before = tree(desk)
    written = _written(action, Path(given), desk, before)
    locked = spelling == "read-only" and os.getuid() == 0
    try:
        if locked:
            os.seteuid(NOBODY)
        _act(action, given, workshop)
    except (Ended, LexicalSAEError):
        os.seteuid(os.getuid())
        check_kept(before, tree(desk))
        check_tidy(tree(desk), before)
        raise
    finally:
        os.seteuid(os.getuid())
    after = tree(desk)
    check_kept(before, after, written)
    check_tidy(after, before)
    if action == "train --dry-run":
        expect(after == before, "a dry run has written something")
        return
    try:
        saved = Path(given) if action == "save" else Path(given) / "model"
        answers = predict_batch(LexicalSAE.from_pretrained(saved), reviews())
    except (LexicalSAEError, OSError) as error:
        raise Lost(f"what was saved cannot be loaded: {error}") from error
    expected = predict_batch(load(workshop.model("named" if action == "save" else "reference")), reviews())
    expect(answers == expected, "what was saved predicts otherwise")


def _act(action: str, given: Path | str, workshop: Workshop) -> None:
    if action == "save":
        load(workshop.model("named")).save_pretrained(given)
        return
    invoke(*action.split(), *workshop.settings(str(given), **KILLED)).succeeded()


def _written(action: str, given: Path, desk: Path, before: dict[str, str]) -> Sequence[str]:
    """What an earlier save or run wrote at the place, and a new one may so replace."""
    at = os.path.relpath(os.path.realpath(given), os.path.realpath(desk))
    model = at if action == "save" else os.path.join(at, "model")
    if action not in ("save", "train --overwrite") or os.path.join(model, "lexical_sae.json") not in before:
        return []
    saved = [os.path.join(model, name) for name in MODEL_FILES]
    if action == "save":
        return saved
    checkpoints = [path for path in before if path.startswith(os.path.join(at, "checkpoints"))]
    measures = [os.path.join(at, "measures", f"{name}.json") for name in MEASURES.names()]
    return [*saved, *(os.path.join(at, name) for name in RUN_FILES), *checkpoints, *measures]
