"""`lexical-sae predict`: what it prints, and which column of a file it reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from splade.models.lexical_sae import LexicalSAE
from splade.models.rehash import rehash_model
from tests.builders import toy_reviews
from tests.runs import LABELS, expect_sentence, json_lines, read_json, run_cli, write_csv

TEXTS = ["the film was charming and the plot witty .", "", "a very dull story"]


# Each ends a line, parts fields or steers the terminal for some reader.
UNRULY = "a\tb\nc\r\nd\x0be\x0cf\x1cg\x1dh\x1ei\x85j\u2028k\u2029l\x1b[31mm\x00n\x9bo"


class TestPredict:
    def test_a_line_a_text_and_three_fields_whatever_a_text_holds(self, model: Path, tmp_path: Path) -> None:
        texts = [UNRULY, "", "[red]a[/red]", " \n "]
        path = tmp_path / "mine.jsonl"  # the one format that can hold them all
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        done = run_cli("predict", "--model", model, "--file", path)
        lines = done.stdout.splitlines()
        assert len(lines) == 4 and all(len(line.split("\t")) == 3 for line in lines)
        assert lines[0].endswith("\ta b c  d e f g h i j k l [31mm n o") and lines[2].endswith("\t[red]a[/red]")
        exact = json_lines(run_cli("predict", "--model", model, "--json", "--file", path).stdout)
        assert [one["text"] for one in exact] == texts

    def test_a_label_stays_in_its_field(self, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        load = LexicalSAE.from_pretrained
        labels = ["a\tb\n", "c\x1b[31m"]

        def odd(folder: Path) -> LexicalSAE:
            loaded = load(folder)
            loaded.labels = labels
            return loaded

        monkeypatch.setattr(LexicalSAE, "from_pretrained", odd)
        done = run_cli("predict", "--model", model, *TEXTS)
        assert {line.split("\t")[0] for line in done.stdout.splitlines()} <= {"a b ", "c [31m"}
        assert len(done.stdout.splitlines()) == 3
        shown = run_cli("explain", "--model", model, "--target", labels[1], *TEXTS).stdout
        assert "\x1b" not in shown and "= logit of c [31m" in shown

    @pytest.mark.parametrize("command", ["predict", "explain"])
    def test_the_column_of_the_training_is_read_again(self, model: Path, tmp_path: Path, command: str) -> None:
        trained = shutil.copytree(model, tmp_path / "model")
        record = read_json(trained / "lexical_sae.json")
        record["experiment"]["data"]["text_column"] = "review"
        (trained / "lexical_sae.json").write_text(json.dumps(record))
        rehash_model(trained)
        own = write_csv(tmp_path / "own.csv", TEXTS, ["other"] * 3, header=("review", "text"))
        usual = write_csv(tmp_path / "usual.csv", TEXTS, ["other"] * 3)
        for path in (own, usual):
            done = run_cli(command, "--model", trained, "--json", "--file", path)
            assert [one["text"] for one in json_lines(done.stdout)] == TEXTS
        done = run_cli(command, "--model", trained, "--json", "--file", own, "--column", "text")
        assert [one["text"] for one in json_lines(done.stdout)] == ["other"] * 3
        found = write_csv(tmp_path / "found.csv", TEXTS, range(3), header=("body", "id"))
        done = run_cli(command, "--model", trained, "--json", "--file", found)
        assert [one["text"] for one in json_lines(done.stdout)] == TEXTS
        assert "The texts are the column 'body' (--column can name another)." in done.stderr
        neither = write_csv(tmp_path / "none.csv", TEXTS, TEXTS, header=("one", "other"))
        done = run_cli(command, "--model", trained, "--file", neither)
        expect_sentence(done, "has no column 'text', and which other has the texts is not clear", "with --column.")
        assert run_cli(command, "--model", trained, "--file", neither, "--column", "one").exit_code == 0
        done = run_cli(command, "--model", trained, "--file", neither, "--column", "oen")
        expect_sentence(done, "has no column 'oen', only: one, other")

    def test_a_column_is_of_a_file_with_columns(self, model: Path, tmp_path: Path) -> None:
        expect_sentence(run_cli("predict", "--model", model, "--column", "a", "good"), "without a --file")
        (tmp_path / "a.txt").write_text("good\n")
        done = run_cli("predict", "--model", model, "--column", "a", "--file", tmp_path / "a.txt")
        expect_sentence(done, "--column a was given, but", "one text a line; leave it out")

    def test_plain_and_json(self, model: Path) -> None:
        plain = run_cli("predict", "--model", model, *TEXTS)
        found = json_lines(run_cli("predict", "--model", model, "--json", *TEXTS).stdout)
        assert [list(one) for one in found] == [["text", "label", "probabilities", "truncated"]] * 3
        expected = [f"{one['label']}\t{one['probabilities'][one['label']]:.4f}\t{one['text']}" for one in found]
        assert plain.stdout.splitlines() == expected

    def test_knows_good_from_bad(self, model: Path) -> None:
        texts, labels = toy_reviews(30, seed=9)
        found = json_lines(run_cli("predict", "--model", model, "--json", "-", stdin="\n".join(texts)).stdout)
        right = sum(one["label"] == LABELS[label] for one, label in zip(found, labels, strict=True))
        assert right > 20


def test_a_file_taken_for_a_text_is_said(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.csv").write_text("text\ngood\n")
    monkeypatch.chdir(tmp_path)
    done = run_cli("predict", "--model", model, "mine.csv")
    assert done.stdout.endswith("\tmine.csv\n") and "there is a file of that name" in done.stderr
