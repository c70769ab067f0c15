"""`lexical-sae concept`: what it finds and says, what it saves, and what it refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from splade.models.lexical_sae import LexicalSAE
from splade.surgery.chain import read_chain
from tests.builders import NEGATIVE, NOUNS, POSITIVE
from tests.runs import contents, expect_sentence, read_json, run_cli, write_csv

#: Words that stand in texts about the group, of either class: the toy model listens to its adjectives.
GROUP = ["witty", "lame"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """A file of texts with labels and a column of groups."""
    labels = LexicalSAE.from_pretrained(model).labels
    generator = random.Random(0)
    rows, given, groups = [], [], []
    for number in range(240):
        positive, inside = number % 2, number % 3 == 0
        words = generator.sample([word for word in (POSITIVE if positive else NEGATIVE) if word not in GROUP], 2)
        rows.append(" ".join([*words, *([GROUP[1 - positive]] if inside else [])]) + f" film {number}")
        given.append(labels[positive])
        groups.append("reviewers;all" if inside else "all")
    file = tmp_path_factory.mktemp("concept") / "texts.csv"
    write_csv(file, rows, given)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([f"{lines[0]},about", *(f"{a},{b}" for a, b in zip(lines[1:], groups, strict=True))]))
    return file


def test_finds_measures_saves_and_is_removed_from_another(model: Path, texts: Path, tmp_path: Path) -> None:
    before, without, report = contents(model), tmp_path / "without", tmp_path / "report"
    who = ("--person", "A. Person", "--role", "reviewer", "--reason", "it names reviewers", "--purpose", "reviews")
    done = run_cli(
        *("concept", "--model", model, "--file", texts, "--group-column", "about", "--group", "reviewers"),
        *("--budget", 1, "--output", without, "--report", report, *who),
    )
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "words accuracy change (95 %), points flips linear probe small network" in said
    assert "The backbone still reads the words" in said and "hidden state, before and after" in said
    written = read_json(report / "concept.json")
    names = [carrier["name"] for carrier in written["concept"]["carriers"]]
    assert set(names) & set(GROUP) and "film" not in names
    assert written["growth"]["points"][0]["size"] == 0 and written["growth"]["chosen"] >= 1
    chosen = names[: written["growth"]["chosen"]]
    assert written["removed"] == {"tokens": chosen, "words": chosen}
    svg, page = (report / "curve.svg").read_text(), (report / "README.md").read_text()
    assert "reviewers" in svg and "accuracy lost" in svg and "curve.svg" in page and chosen[0] in page

    changed = LexicalSAE.from_pretrained(without)
    assert sorted(changed.suppressed_words) == sorted(chosen) and changed.silenced_words == sorted(chosen)
    [record] = read_chain(changed.surgery)
    account = record.account
    assert account["person"] == "A. Person" and account["groups"]["reviewers"]["source"].startswith("column about")
    assert account["data"] == written["data"] and len(account["data"]) == 2
    assert account["figures"]["before"]["names"] == 0 and account["figures"]["after"]["names"] == len(chosen)
    assert set(account["figures"]["after"]["leakage"]) == {"sparse vector", "mean hidden state"}
    assert account["thresholds"] == {"leakage at chance": 0.55, "budget": 1.0}
    assert run_cli("record", "verify", "--model", without).exit_code == 0

    again = tmp_path / "again"
    done = run_cli("suppress", "--model", model, "--concept", report / "concept.json", "--output", again)
    assert done.exit_code == 0, done.output
    assert LexicalSAE.from_pretrained(again).removal == changed.removal
    back = tmp_path / "back"
    run_cli("suppress", "--model", again, "--undo", "--concept", report / "concept.json", "--output", back)
    assert not LexicalSAE.from_pretrained(back).removal
    assert contents(model) == before


def test_seeds_and_the_models_own_texts(model: Path, tmp_path: Path) -> None:
    """Half of the nouns, so that about half of the training texts, and of the validation texts, have one."""
    (tmp_path / "words.txt").write_text("\n".join([*NOUNS[::2], "qwertyuiop"]))
    done = run_cli("concept", "--model", model, "--seeds", tmp_path / "words.txt", "--seed", "cast", "--tokens-only")
    assert done.exit_code == 0, done.output
    assert "qwertyuiop" in done.stdout and "linear probe" in done.stdout


@pytest.mark.parametrize(
    "arguments, parts",
    [
        ((), ("There is no concept to look for", "--group")),
        (("--group-column", "about", "--group", "revewers"), ("No text is about 'revewers'", "reviewers'?")),
        (("--group-column", "abuot", "--group", "reviewers"), ("no column 'abuot'", "about")),
        (("--group-column", "about"), ("Which group is meant", "reviewers")),
        (("--group-column", "about", "--group", "all"), ("All texts have",)),
        (("--seed", "paris"), ("No text has the concept", "paris")),
        (("--seed", "film"), ("All texts have", "film")),
        (("--seeds", "missing.txt"), ("missing.txt",)),
        (("--seed", "witty", "--budget", "3"), ("budget is 3",)),
        (tuple(part for word in [*POSITIVE, *NEGATIVE] for part in ("--seed", word)), ("have the concept",)),
    ],
)
def test_mistakes_are_a_sentence_and_leave_nothing(
    model: Path, texts: Path, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    expect_sentence(run_cli("concept", "--model", model, "--file", texts, *arguments, "--output", out), *parts)
    assert not out.exists()


def test_a_budget_that_allows_nothing_saves_nothing(model: Path, texts: Path, tmp_path: Path) -> None:
    asked = ("concept", "--model", model, "--file", texts, "--seed", "witty", "--seed", "lame", "--budget", 0)
    done = run_cli(*asked, "--output", tmp_path / "out")
    assert (tmp_path / "out").exists() == (done.exit_code == 0)
    if done.exit_code:
        expect_sentence(done, "Nothing is removed")


def test_files_of_others_are_left_alone(model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    asked = ("concept", "--model", model, "--seed", "film")
    expect_sentence(run_cli(*asked, "--report", tmp_path), "other files")
    expect_sentence(run_cli(*asked, "--output", model), "holds the model itself")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"concept": {}, "removed": {"tokens": ["film"], "words": []}}'])
def test_a_file_that_is_no_concept_is_refused(model: Path, tmp_path: Path, content: str) -> None:
    file = tmp_path / "concept.json"
    file.write_text(content)
    asked = ("suppress", "--model", model, "--output", tmp_path / "out", "--concept")
    expect_sentence(run_cli(*asked, file), "no file of a concept")
    expect_sentence(run_cli(*asked, tmp_path / "missing.json"), "cannot be read")


def test_a_concept_that_removes_nothing_is_said(model: Path, tmp_path: Path) -> None:
    concept = {"name": "people", "source": "", "texts": 1, "positives": 1, "tested": 0, "by_class": True}
    values = {"concept": concept | {"silence": True, "carriers": [], "unmatched": []}}
    file = tmp_path / "concept.json"
    file.write_text(json.dumps(values | {"removed": {"tokens": [], "words": []}}))
    asked = ("suppress", "--model", model, "--concept", file, "--output", tmp_path / "out")
    expect_sentence(run_cli(*asked), "'people'", "removes no word")
