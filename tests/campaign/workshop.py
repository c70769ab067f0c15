"""What all cases share, made once a campaign: a tiny backbone, data, and trained models of every kind."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_backbone_folder, tagged_sentences, toy_reviews
from tests.campaign.cli import Ran, forked
from tests.runs import LABELS, overrides, sets, write_csv, write_reviews, write_sentences

#: Settings of each saved model beyond those of a tiny run.
CLASSIFIERS: dict[str, dict[str, object]] = {
    "named": {},
    "numbered": {},  # trained on the classes 0 and 1
    "senses": {"model__senses": 2, "model__sense_tokens": ["bank", "card"]},
    "dictionary": {"model__support": "neighbourhood+dictionary"},
    "columns": {"data__text_column": "review", "data__label_column": "stars"},  # trained on files by relative paths
}
COLUMNS = {"text": "review", "label": "stars"}
TAGGER = "tagger"

#: Shorter than the models' training: what is killed, and resumed, hundreds of times. 12 steps, 4 checkpoints.
KILLED = {"training__max_steps": 12, "evaluation__explain_samples": 1}
ANOTHER_SEED = 7


@dataclass(frozen=True)
class Workshop:
    """Folders of what was made; cases read them and never write there."""

    folder: Path
    run_seconds: float
    """What the killed training takes when nobody kills it."""

    @property
    def backbone(self) -> Path:
        return self.folder / "bert"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def model(self, name: str) -> Path:
        """The folder of a saved model."""
        return self.run(name) / "model"

    def run(self, name: str) -> Path:
        """The folder of a finished run; `reference` and `earlier` are those of the killed training."""
        return self.folder / "runs" / name

    def settings(self, output: Path | str, **changes: object) -> list[str]:
        """`--set` arguments of a tiny training."""
        return sets(overrides(self.data, self.backbone, Path("."), output_dir=str(output), **changes))


@cache
def load(folder: Path) -> LexicalSAE:
    """A saved model, loaded once a process; whoever changes it loads another."""
    return LexicalSAE.from_pretrained(folder)


def reviews(count: int = 10, seed: int = 99) -> list[str]:
    """Texts to ask a classifier about: short and long ones, so that batches are reordered."""
    texts, _ = toy_reviews(count, seed)
    return [f"{text} {text}" if row % 3 == 0 else text for row, text in enumerate(texts)]


def sentences(count: int = 10, seed: int = 99) -> list[list[str]]:
    """The same for a tagger, as lists of words."""
    return tagged_sentences(count, seed)[0]


def build(folder: Path) -> Workshop:
    """Make all of it; a quarter of a minute."""
    folder.chmod(0o755)
    build_backbone_folder(folder, "bert", dropout=0.1)
    write_reviews(folder / "data")
    workshop = Workshop(folder, 0.0)
    for number, name in enumerate(("train", "validation", "test")):
        texts, labels = toy_reviews((128, 48, 48)[number], number)
        write_csv(folder / "numbers" / f"{name}.csv", texts, labels)
        write_csv(folder / "own" / f"{name}.csv", texts, [LABELS[label] for label in labels], list(COLUMNS.values()))
    places = {"numbered": folder / "numbers", "columns": Path("own")}
    for name, changes in CLASSIFIERS.items():
        data = places.get(name, folder / "data")
        _made(
            folder,
            "train",
            *sets(overrides(data, workshop.backbone, workshop.run(name), training__epochs=4, **changes)),
        )
    tagged = write_sentences(folder / "tagged") | {"training__epochs": 12, "training__eval_every": 12}
    _made(folder, "train", *sets(overrides(folder, workshop.backbone, workshop.run(TAGGER), **tagged)))
    _made(folder, "train", *workshop.settings(workshop.run("earlier"), seed=ANOTHER_SEED, **KILLED))
    began = time.perf_counter()
    _made(folder, "train", *workshop.settings(workshop.run("reference"), **KILLED))
    workshop = Workshop(folder, time.perf_counter() - began)
    for name in (*CLASSIFIERS, TAGGER, "earlier", "reference"):
        load(workshop.model(name))  # here, so that every fork has it
    return workshop


def _made(log: Path, *arguments: str) -> None:
    """Train in a process of its own, so that no thread of it is here when workers are forked."""
    ran: Ran = forked(arguments, log, lambda: os.chdir(log))
    if ran.code != 0:
        raise RuntimeError(f"The campaign's own models cannot be made: {ran.stderr[-2000:]}")


def truth(texts: list[str]) -> list[str]:
    """The labels that toy reviews have by how they were made."""
    from tests.builders import POSITIVE

    return [LABELS[any(word in POSITIVE for word in text.split())] for text in texts]
