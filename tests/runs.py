"""Whole runs to test with: toy reviews in files, settings that train in a second or two, and the command line."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from splade.cli import app
from splade.config.load import load_config
from splade.config.schema import Config
from splade.run_folder import LOCK
from tests.builders import TAGS, tagged_sentences, toy_reviews

LABELS = ["negative", "positive"]

#: Words the tokenizer splits, appended to some reviews.
SPLIT_WORDS = ["filmed", "unwatchable", "makers", "scenes"]

#: Settings of a run that learns the toy reviews: 8 steps an epoch, 16 steps, of which 6 are warm-up.
TINY: dict[str, object] = {
    "model.dtype": "float32",
    "model.hidden_size": 16,
    "model.neighbours": 6,
    "model.neighbour_similarity": -1.0,
    "model.head": "relu_mlp",  # random embeddings mean nothing, so a head tied to them would learn nothing
    "model.token_dropout": 0.0,
    "data.max_length": 24,
    "training.batch_size": 16,
    "training.learning_rate": 1e-3,
    "training.head_learning_rate": 1e-2,
    "training.optimizer": "schedule_free",
    "training.lr_warmup_steps": 2,
    "training.active_target": 10,
    "training.eval_every": 3,
    "training.log_every": 2,
}


#: What a finished run leaves in its folder, beside who holds it.
RUN_FILES = (
    "config.yaml",
    "model",
    "checkpoints",
    "metrics.jsonl",
    "measures",
    "results.json",
    "report.html",
    "README.md",
)


def write_csv(
    path: Path, texts: Sequence[str], labels: Sequence[object], header: Sequence[str] = ("text", "label")
) -> Path:
    """A CSV file of texts and labels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(texts, labels, strict=True))
    return path


def write_reviews(folder: Path, train: int = 128, validation: int = 48, test: int = 48) -> Path:
    """`train.csv`, `validation.csv` and `test.csv` of toy reviews with named labels."""
    for seed, (name, size) in enumerate({"train": train, "validation": validation, "test": test}.items()):
        texts, labels = toy_reviews(size, seed)
        texts = [f"{text} {SPLIT_WORDS[row % 4]}" if row % 5 == 0 else text for row, text in enumerate(texts)]
        write_csv(folder / f"{name}.csv", texts, [LABELS[label] for label in labels])
    return folder


def write_conll(path: Path, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> Path:
    """A column file of words and tags."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = [zip(*each, strict=True) for each in zip(sentences, tags, strict=True)]
    path.write_text("".join("".join(f"{w} {t}\n" for w, t in pair) + "\n" for pair in pairs), encoding="utf-8")
    return path


def write_sentences(folder: Path, train: int = 64, validation: int = 16, test: int = 24) -> dict[str, object]:
    """Column files of toy sentences, and the settings that name them."""
    for seed, (name, size) in enumerate({"train": train, "validation": validation, "test": test}.items()):
        sentences, tags = tagged_sentences(size, seed)
        write_conll(folder / f"{name}.conll", sentences, [[TAGS[tag] for tag in each] for each in tags])
    files = {f"data__{part}_file": folder / f"{part}.conll" for part in ("train", "validation", "test")}
    return {"task": "tagging", "model__support": "dictionary", "training__active_target": 6, **files}


def overrides(data: Path, backbone: Path, output: Path, **changes: object) -> list[str]:
    """`section.key=value` of a tiny run; `changes` are written with two underscores for the point."""
    values = {
        "output_dir": output,
        "data.train_file": data / "train.csv",
        "data.validation_file": data / "validation.csv",
        "data.test_file": data / "test.csv",
        "model.name": backbone,
        **TINY,
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return [f"{key}={json.dumps(str(v) if isinstance(v, Path) else v)}" for key, v in values.items()]


def tiny_config(data: Path, backbone: Path, output: Path, **changes: object) -> Config:
    return load_config(None, overrides(data, backbone, output, **changes))


def sets(settings: Sequence[str]) -> list[str]:
    """The settings as `--set` arguments."""
    return [argument for setting in settings for argument in ("--set", setting)]


def run_cli(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """The command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def expect_sentence(result: Result, *parts: str) -> str:
    """The command ended with exit code 2 and one sentence on standard error that holds every part."""
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    said = result.stderr.strip()
    assert said and "Traceback" not in result.output
    sentence = said.splitlines()[-1]
    for part in parts:
        assert part in sentence, sentence
    return sentence


@dataclass(frozen=True)
class ToyRun:
    """A finished run and what it was made of."""

    folder: Path
    data: Path
    backbone: Path
    changes: dict[str, object]
    """What is not as in other tiny runs."""
    settings: list[str]
    result: Result

    def config(self, output: Path, **changes: object) -> Config:
        """The same run, elsewhere, with some settings changed."""
        return tiny_config(self.data, self.backbone, output, **(self.changes | changes))

    def sets(self, output: Path, **changes: object) -> list[str]:
        """The same as arguments of the command line."""
        return sets(overrides(self.data, self.backbone, output, **(self.changes | changes)))


def digest(file: Path) -> str:
    """Of what a file holds: where two differ, pytest would look for the differences of a megabyte for hours."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def contents(folder: Path) -> dict[str, str]:
    """Digests of all files; who holds the lock is no content."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    return {str(path.relative_to(folder)): digest(path) for path in files}


def weights(folder: Path) -> str:
    """The digest of the trained weights a run left in `folder`."""
    return digest(folder / "model" / "model.safetensors")


def json_lines(stdout: str) -> list[dict[str, Any]]:
    """One JSON object a line, as commands print them."""
    return [json.loads(line) for line in stdout.splitlines()]


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
