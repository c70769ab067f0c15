"""`lexical-sae bias`: groups by columns and by words, in the terminal and as JSON; what cannot be measured is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import NOUNS, toy_reviews
from tests.runs import ToyRun, expect_sentence, run_cli


@pytest.fixture
def file(tmp_path: Path) -> Path:
    texts, labels = toy_reviews(240, 5)
    path = tmp_path / "texts.jsonl"
    rows = []
    for text, label in zip(texts, labels, strict=True):
        about = ["film"] * bool({*NOUNS[:12]} & {*text.split()}) + ["praised"] * label
        rows.append({"text": text, "label": ["negative", "positive"][label], "about": about})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_groups_of_a_column(toy_run: ToyRun, file: Path) -> None:
    model = str(toy_run.folder / "model")
    arguments = ["--model", model, "--file", str(file), "--group-column", "about", "--label", "positive"]
    done = run_cli("bias", *arguments, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["bias"]
    assert set(found["groups"]) == {"film", "praised"} and found["positive"] == ["positive"]
    assert found["groups"]["praised"]["negatives"] == 0
    assert found["fixed"]["fpr"]["groups"]["praised"] is None, "without negatives undefined, never 0"
    done = run_cli("bias", *arguments)
    assert done.exit_code == 0 and "film" in done.stdout and "negatives" in done.stdout, done.output


def test_groups_by_words(toy_run: ToyRun, file: Path, tmp_path: Path) -> None:
    terms, written = tmp_path / "terms.txt", tmp_path / "bias.json"
    terms.write_text("pictures: film, movie\n")
    done = run_cli(
        *("bias", "--model", str(toy_run.folder / "model"), "--file", str(file), "--terms", str(terms)),
        *("--label", "positive", "--output", str(written)),
    )
    assert done.exit_code == 0, done.output
    assert json.loads(written.read_text())["bias"]["source"] == "terms in the texts"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--label", "positive"], "has no columns of groups"),
        (["--label", "positive", "--group-column", "abouts"], "no column 'abouts' of groups"),
        (["--group-column", "about"], "does not follow from their names"),
        (["--group-column", "about", "--terms", "identity"], "keep one"),
        (["--label", "hateful", "--group-column", "about"], "names 'hateful', which is none of the labels"),
    ],
)
def test_what_cannot_be_measured(toy_run: ToyRun, file: Path, arguments: list[str], said: str) -> None:
    done = run_cli("bias", "--model", str(toy_run.folder / "model"), "--file", str(file), *arguments)
    expect_sentence(done, said)
