"""`lexical-sae explain`: what it prints, and where texts may come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.runs import LABELS, expect_sentence, json_lines, run_cli, write_csv

TEXTS = ["the film was charming and the plot witty .", "", "a very dull story"]


class TestExplain:
    def test_json_has_just_its_schema_and_sums(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--json", *TEXTS)
        assert done.exit_code == 0 and done.stderr == ""
        found = json_lines(done.stdout)
        assert [one["text"] for one in found] == TEXTS
        for one in found:
            sums = ["bias", "constant_bias", "truncated", "tokens", "words"]
            assert list(one) == ["text", "label", "target", "logits", "probabilities", *sums]
            assert list(one["logits"]) == list(one["probabilities"]) == LABELS
            assert one["target"] == one["label"] == max(LABELS, key=one["logits"].__getitem__)
            for token in one["tokens"]:
                assert [*map(type, token.values())] == [str, float, float, int]
                assert list(token) == ["token", "score", "value", "position"]
            for word in one["words"]:
                assert [*map(type, word.values())] == [str, int, int, float]
                assert list(word) == ["word", "start", "end", "score"]
                assert word["word"] == one["text"][word["start"] : word["end"]]
            for rows in (one["tokens"], one["words"]):
                total = one["bias"] + sum(row["score"] for row in rows)
                assert total == pytest.approx(one["logits"][one["target"]], abs=1e-4)

    def test_another_target(self, model: Path) -> None:
        for label in LABELS:
            (one,) = json_lines(run_cli("explain", "--model", model, "--json", "--target", label, TEXTS[0]).stdout)
            total = one["bias"] + sum(row["score"] for row in one["tokens"])
            assert one["target"] == label and total == pytest.approx(one["logits"][label], abs=1e-4)

    def test_a_dash_reads_one_text_a_line(self, model: Path) -> None:
        """Only a line feed ends a line: texts may hold a form feed or a Unicode line separator."""
        lines = ["a charming film", "", "bad\x0cplot\u2028dull", "schön 👍"]
        done = run_cli("explain", "--model", model, "--json", "-", stdin="\r\n".join(lines) + "\n")
        assert [one["text"] for one in json_lines(done.stdout)] == lines

    def test_bytes_that_are_no_text_are_replaced(self, model: Path) -> None:
        done = run_cli("predict", "--model", model, "--json", "-", stdin=b"good \xff film\n")
        assert done.exit_code == 0 and json_lines(done.stdout)[0]["text"] == "good \ufffd film"
        assert "Standard input is not UTF-8 throughout" in done.stderr

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_another_encoding_is_no_garbled_text(self, model: Path, encoding: str) -> None:
        done = run_cli("predict", "--model", model, "-", stdin="a good film\na bad one\n".encode(encoding))
        expect_sentence(done, "Standard input is not UTF-8 text", "iconv")
        assert done.stdout == ""

    def test_a_lone_surrogate_as_a_shell_may_pass_it(self, model: Path) -> None:
        for command in ("explain", "predict"):
            done = run_cli(command, "--model", model, "--json", "good \udcff film")
            assert done.exit_code == 0 and json_lines(done.stdout)[0]["text"] == "good ? film"

    def test_a_file_holds_one_text_a_line(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "texts.txt").write_text("\ufeffa charming film\na dull plot", encoding="utf-8")
        done = run_cli("explain", "--model", model, "--json", "--file", tmp_path / "texts.txt")
        assert [one["text"] for one in json_lines(done.stdout)] == ["a charming film", "a dull plot"]

    def test_a_file_with_columns_is_read_as_training_reads_it(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": 1, "text": text}) + "\n" for text in TEXTS))
        for path in (tmp_path / "a.jsonl", write_csv(tmp_path / "a.csv", TEXTS, [0, 1, 0])):
            for command in ("explain", "predict"):
                done = run_cli(command, "--model", model, "--json", "--file", path)
                assert [one["text"] for one in json_lines(done.stdout)] == TEXTS

    def test_a_mark_of_the_byte_order_is_no_part_of_standard_input(self, model: Path) -> None:
        done = run_cli("predict", "--model", model, "--json", "-", stdin=b"\xef\xbb\xbfgood film\n")
        assert json_lines(done.stdout)[0]["text"] == "good film"

    def test_no_texts_are_nothing_to_print_and_it_is_said(self, model: Path, tmp_path: Path) -> None:
        for name in ("none.txt", "none.jsonl"):
            (tmp_path / name).touch()
            done = run_cli("explain", "--model", model, "--json", "--file", tmp_path / name)
            assert (done.exit_code, done.stdout) == (0, "")
            assert done.stderr == f"The file {tmp_path / name} has no texts, so there is nothing to print.\n"
        done = run_cli("explain", "--model", model, "--json", "-", stdin="")
        assert (done.exit_code, done.stdout) == (0, "") and done.stderr.startswith("Standard input has no texts")
        done = run_cli("explain", "--model", model, "--json", stdin="")  # nobody said where texts are
        assert (done.exit_code, done.stdout) == (2, "") and done.stderr.startswith("There is no text to read; give")

    def test_the_table_shows_words_and_a_sum_that_adds_up(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, TEXTS[0])
        assert done.exit_code == 0
        assert "charming" in done.stdout and "prior" in done.stdout and "= logit of" in done.stdout
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["word", "score"])
        end = next(i for i, line in enumerate(lines) if i > start and line.startswith("="))
        scores = [re.search(r" ([+-]\d+\.\d{3})", line) for line in lines[start + 1 : end + 1]]
        *summands, logit = [float(score[1]) for score in scores if score]
        assert len(summands) == end - start - 1 and sum(summands) == pytest.approx(logit, abs=1e-9)


class TestInteractions:
    def test_rows_add_up_as_printed(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--interactions", "--span", "plot witty", "--all-words", TEXTS[0])
        assert done.exit_code == 0 and done.stderr == ""
        table = done.stdout.partition("When a word is deleted, the logit of ")[2]
        rows = re.split(r"\n(?=\S)", table)[2:]  # a row's sum may go over several lines
        sums = [re.findall(r"[+-]\d+\.\d{3}", row) for row in rows if re.match(r".* [+-]\d+\.\d{3} +[+-]", row)]
        assert len(sums) == 1 + len(TEXTS[0].split())  # and the two words as one
        for effect, *summands in sums:
            assert sum(map(float, summands)) == pytest.approx(float(effect), abs=1e-9)
        assert "Deleting “plot witty” at once takes" in table

    def test_json_has_them_when_asked_for(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--json", "--interactions", "--span", "dull", *TEXTS)
        found = json_lines(done.stdout)
        assert [len(one["interactions"]["deleted"]) for one in found] == [9, 0, 4]
        for one in found:
            for deleted in one["interactions"]["deleted"]:
                parts = deleted["share"] + deleted["bias"] + sum(other["change"] for other in deleted["through"])
                assert parts == pytest.approx(deleted["effect"], abs=1e-4)
        said = [f"Text {n} does not have the words 'dull', so they were not deleted." for n in (1, 2)]
        assert done.stderr.splitlines() == said

    def test_misuse_is_said_in_a_sentence(self, model: Path) -> None:
        for option in (["--span", "good"], ["--all-words"]):
            done = run_cli("explain", "--model", model, *option, TEXTS[0])
            expect_sentence(done, f"{option[0]} says what --interactions are of", "add that option")
        done = run_cli("explain", "--model", model, "--interactions", "--span", " ... ", TEXTS[0])
        expect_sentence(done, "The span ' ... ' has no word to look for")
        done = run_cli("explain", "--model", model, "--interactions", "")
        assert done.exit_code == 0 and "Deleting a word changes nothing." in done.stdout
