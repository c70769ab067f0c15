"""`lexical-sae suppress`: what is removed, what is said of it, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.models.folder import SURGERY
from splade.models.lexical_sae import LexicalSAE
from tests.runs import contents, expect_sentence, json_lines, run_cli

TEXT = "the film was charming and the plot witty ."


def words_of(model: Path, text: str = TEXT) -> dict[str, float]:
    [found] = json_lines(run_cli("explain", "--model", model, "--json", text).stdout)
    return {word["word"]: word["score"] for word in found["words"]}


def tokens_of(model: Path, text: str = TEXT) -> set[str]:
    [found] = json_lines(run_cli("explain", "--model", model, "--json", text).stdout)
    return {token["token"] for token in found["tokens"]}


def test_removes_says_what_matched_and_undoes(model: Path, tmp_path: Path) -> None:
    before, answers = contents(model), run_cli("predict", "--model", model, "--json", TEXT).stdout
    without = tmp_path / "without"
    (tmp_path / "more.txt").write_text("witty\nqwerty uiop\n")
    who = ("--person", "A. Person", "--role", "reviewer", "--reason", "they name a group", "--purpose", "reviews")
    done = run_cli(
        *("suppress", "--model", model, "--word", "CHARMING", "--silence", "film", "--file", tmp_path / "more.txt"),
        *("--output", without, "--probe", TEXT, *who),
    )
    assert done.exit_code == 0, done.output
    assert "'CHARMING': shut, 1 token(s): charming." in done.stdout
    assert "'film': silenced wherever it stands." in done.stdout
    assert "'qwerty uiop' matched nothing, and is left out." in done.stdout
    assert f"Removed from {without}: charming, witty, film (silenced)." in done.stdout.replace("\n", " ")
    assert not tokens_of(without) & {"charming", "witty"} and words_of(without)["film"] == 0
    card = (without / "README.md").read_text(encoding="utf-8")
    assert "## Record of removals" in card and "they name a group" in card and "A. Person, reviewer" in card
    assert "Intended purpose, as whoever removed words gave it: reviews." in card and "Silenced words" in card
    assert (
        LexicalSAE.from_pretrained(without).record["experiment"]
        == LexicalSAE.from_pretrained(model).record["experiment"]
    )

    back = tmp_path / "back"
    done = run_cli("suppress", "--model", without, "--undo", "--word", "charming", "--output", back)
    assert "'charming': opened again, 1 token(s): charming." in done.stdout
    assert "witty, film (silenced)." in done.stdout
    whole = tmp_path / "whole"
    assert run_cli("suppress", "--model", back, "--undo", "--output", whole).stdout.endswith("nothing.\n")
    assert run_cli("predict", "--model", whole, "--json", TEXT).stdout == answers
    assert len((whole / SURGERY).read_text().splitlines()) == 3
    assert contents(model) == before


def test_a_list_of_the_lab(model: Path, tmp_path: Path) -> None:
    (tmp_path / "removals.json").write_text('{"model": "m", "shut": ["charming"], "silence": ["film"]}')
    without = tmp_path / "without"
    done = run_cli("suppress", "--model", model, "--file", tmp_path / "removals.json", "--output", without)
    assert done.exit_code == 0, done.output
    assert "charming" not in tokens_of(without) and words_of(without)["film"] == 0


def test_a_token_by_its_number(model: Path, tmp_path: Path) -> None:
    number = LexicalSAE.from_pretrained(model).vocabulary.names.index("witty")
    done = run_cli("suppress", "--model", model, "--token", number, "--token", "##ing", "--output", tmp_path / "out")
    assert f"'{number}': shut, 1 token(s): witty." in done.stdout and "'##ing': shut" in done.stdout


@pytest.mark.parametrize(
    "arguments, parts",
    [
        ((), ("There is nothing to remove", "--word")),
        (("--word", "qwerty uiop"), ("'qwerty uiop' first",)),
        (("--word", ""), ("'' first",)),
        (("--token", "99999999"), ("'99999999' first",)),
        (("--token", "9" * 5000), ("first",)),
        (("--file", "missing.txt"), ("missing.txt",)),
        (("--undo",), ("nothing to restore",)),
        (("--undo", "--word", "film"), ("'film' is not removed", "nothing")),
        (("--word", "film", "--key", "missing.pem"), ("",)),
    ],
)
def test_mistakes_are_a_sentence_and_leave_nothing(
    model: Path, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    before = contents(model)
    expect_sentence(run_cli("suppress", "--model", model, *arguments, "--output", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists() and contents(model) == before


def test_nothing_saved_is_replaced(model: Path, tmp_path: Path) -> None:
    before = contents(model)
    asked = ("suppress", "--word", "film", "--model")
    expect_sentence(run_cli(*asked, model, "--output", model), "holds the model itself", "name another folder")
    (tmp_path / "file").write_text("mine")
    expect_sentence(run_cli(*asked, model, "--output", tmp_path / "file"), "name a folder")
    expect_sentence(run_cli(*asked, tmp_path, "--output", tmp_path / "out"), "is not a saved")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "README.md").write_text("mine")
    assert run_cli(*asked, model, "--output", tmp_path / "own").exit_code == 0
    assert (tmp_path / "own" / "README.md").read_text() == "mine"
    assert contents(model) == before
