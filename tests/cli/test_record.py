"""`lexical-sae record`: shown, verified, replayed, taken back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from splade.models.folder import SURGERY
from splade.models.lexical_sae import LexicalSAE
from splade.models.rehash import rehash_model
from tests.runs import expect_sentence, json_lines, run_cli

TEXT = "the film was charming"


@pytest.fixture(scope="module")
def operated(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with two records; shared, so a test must leave it alone."""
    folder = tmp_path_factory.mktemp("operated")
    first = ("suppress", "--model", model, "--word", "film", "--probe", TEXT, "--reason", "a trial")
    assert run_cli(*first, "--output", folder / "one").exit_code == 0
    second = ("suppress", "--model", folder / "one", "--silence", "charming", "--output", folder / "two")
    assert run_cli(*second).exit_code == 0
    return folder / "two"


def test_shown_verified_and_replayed(operated: Path) -> None:
    shown = run_cli("record", "show", "--model", operated).stdout
    assert "removed (tokens shut: film)" in shown and "removed (words silenced: charming)" in shown
    assert "reason: a trial" in shown and "not guaranteed: " in shown
    first, second = json_lines(run_cli("record", "show", "--model", operated, "--json").stdout)
    assert second["previous"] == first["hash"] and first["probes"][0]["text"] == TEXT
    assert ": 2 record(s) hold; 2 text(s) were read again" in run_cli("record", "verify", "--model", operated).stdout
    assert run_cli("record", "replay", "--model", operated).stdout.count("the same") == 2


def test_taken_back_one_after_another(operated: Path, model: Path, tmp_path: Path) -> None:
    done = run_cli("record", "undo", "--model", operated, "--output", tmp_path / "one", "--reason", "it was a trial")
    assert done.stdout.startswith("Record 1 is taken back") and "film." in done.stdout
    done = run_cli("record", "undo", "--model", tmp_path / "one", "--output", tmp_path / "none")
    assert done.stdout.startswith("Record 0 is taken back") and done.stdout.endswith("nothing.\n")
    before, after = (run_cli("predict", "--model", folder, "--json", TEXT) for folder in (model, tmp_path / "none"))
    assert before.stdout == after.stdout
    assert run_cli("record", "verify", "--model", tmp_path / "none").exit_code == 0
    expect_sentence(
        run_cli("record", "undo", "--model", tmp_path / "none", "--output", tmp_path / "more"), "none can be undone"
    )
    expect_sentence(run_cli("record", "undo", "--model", operated, "--output", tmp_path / "none"), "holds a model")
    assert not (tmp_path / "more").exists()


def test_a_model_without_records(model: Path) -> None:
    assert "nothing is on record" in run_cli("record", "show", "--model", model).stdout
    assert run_cli("record", "show", "--model", model, "--json").stdout == ""
    assert "there was nothing to check" in run_cli("record", "verify", "--model", model).stdout
    assert "no record to replay" in run_cli("record", "replay", "--model", model).stdout


class TestRefused:
    def test_one_changed_byte(self, operated: Path, tmp_path: Path) -> None:
        changed = shutil.copytree(operated, tmp_path / "model")
        content = (changed / SURGERY).read_bytes()
        (changed / SURGERY).write_bytes(content.replace(b"a trial", b"a triel"))
        expect_sentence(run_cli("record", "verify", "--model", changed), SURGERY, "damaged or was changed")
        rehash_model(changed)
        for command in ("verify", "show", "replay"):
            expect_sentence(run_cli("record", command, "--model", changed), "Record 0", "does not match its hash")

    @pytest.mark.parametrize("order, said", [((1,), "Record 0"), ((1, 0), "Record 0"), ((0,), "removes other words")])
    def test_one_taken_out_or_moved(self, operated: Path, tmp_path: Path, order: tuple[int, ...], said: str) -> None:
        changed = shutil.copytree(operated, tmp_path / "model")
        lines = (changed / SURGERY).read_text().splitlines()
        (changed / SURGERY).write_text("".join(f"{lines[number]}\n" for number in order))
        rehash_model(changed)
        expect_sentence(run_cli("record", "verify", "--model", changed), said)

    def test_records_of_another_model(self, operated: Path, toy_tagger: object, tmp_path: Path) -> None:
        other = shutil.copytree(toy_tagger.folder / "model", tmp_path / "model")  # type: ignore[attr-defined]
        shutil.copy(operated / SURGERY, other / SURGERY)
        rehash_model(other)
        expect_sentence(run_cli("record", "verify", "--model", other), "of another model")

    def test_no_model(self, tmp_path: Path) -> None:
        expect_sentence(run_cli("record", "show", "--model", tmp_path), "is not a saved Lexical-SAE model")

    def test_words_suppressed_behind_its_back(self, operated: Path, tmp_path: Path) -> None:
        loaded = LexicalSAE.from_pretrained(operated)
        loaded.encoder.suppress(loaded.vocabulary.content[:1].to(loaded.device))
        loaded.save_pretrained(tmp_path / "model")
        expect_sentence(run_cli("record", "verify", "--model", tmp_path / "model"), "removes other words")
