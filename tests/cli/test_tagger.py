"""The command line with a tagger: what each command prints, reads and writes, and what it refuses in one sentence."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from splade.data.files import read_columns
from splade.models import pretrained
from splade.models.rehash import rehash_model
from tests.builders import TAGS
from tests.runs import ToyRun, expect_sentence, read_json, run_cli, sets, write_conll, write_csv

TEXTS = ["John Smith saw a film.", "", "Mary watched the bank of Paris"]


@pytest.fixture(scope="module")
def model(toy_tagger: ToyRun) -> Path:
    return toy_tagger.folder / "model"


def training(run: ToyRun, output: Path, **changes: object) -> list[str]:
    """The settings of the toy tagger, with others."""
    others = {"output_dir": str(output), **{key.replace("__", "."): value for key, value in changes.items()}}
    return sets([*run.settings, *(f"{key}={json.dumps(value)}" for key, value in others.items())])


class TestPredict:
    def test_entities_stand_in_brackets_one_line_a_text(self, model: Path) -> None:
        done = run_cli("predict", "--model", model, *TEXTS)
        lines = done.stdout.splitlines()
        assert done.exit_code == 0 and len(lines) == 3 and lines[1] == "(empty text)"
        assert re.sub(r"\[[A-Z]+ [01]\.\d\d |\]", "", lines[0]).removesuffix("  (no entity)") == TEXTS[0]
        assert "[" in lines[0] or "(no entity)" in lines[0]

    def test_json_from_a_file_and_from_standard_input(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
        from_file = run_cli("predict", "--model", model, "--file", tmp_path / "texts.txt", "--json").stdout
        assert run_cli("predict", "--model", model, "--json", "-", stdin="\n".join(TEXTS) + "\n").stdout == from_file
        found = [json.loads(line) for line in from_file.splitlines()]
        assert [one["text"] for one in found] == TEXTS
        assert list(found[0]) == ["text", "entities", "words"] and found[1]["words"] == found[1]["entities"] == []
        for one in found:
            assert all(one["text"][w["start"] : w["end"]] == w["word"] and w["tag"] in TAGS for w in one["words"])
            assert all(one["text"][e["start"] : e["end"]] == e["text"] for e in one["entities"])

    def test_columns_can_be_read_back(self, model: Path, tmp_path: Path) -> None:
        texts = [*TEXTS, "# 1 \u00a0 -DOCSTART-\nthe U.S.\u2028bank", "1 2 3"]
        done = run_cli("predict", "--model", model, "--conll", *texts)
        assert done.exit_code == 0
        (tmp_path / "mine.conll").write_text(done.stdout, encoding="utf-8")
        found = [
            json.loads(line) for line in run_cli("predict", "--model", model, "--json", *texts).stdout.splitlines()
        ]
        columns = read_columns(tmp_path / "mine.conll", "tagging")
        for name, key in (("tokens", "word"), ("tags", "tag")):
            assert columns[name] == [[w[key] for w in one["words"]] for one in found if one["words"]]

    def test_words_that_are_split_already_are_read_as_training_reads_them(self, model: Path, tmp_path: Path) -> None:
        sentences = [["John", "Smith's", "film"], ["New York", "saw", "#"]]
        columns = "".join("".join(f"{word}\tX\tO\n" for word in words) + "\n" for words in sentences)
        rows = "".join(json.dumps({"tokens": words, "text": "other"}) + "\n" for words in sentences)
        alone = columns.replace("\tX\tO", "").replace("New York", "Paris")
        for name, content in (("a.conll", columns), ("a.jsonl", rows), ("b.iob", alone)):
            (tmp_path / name).write_text(content)
            for command in ("predict", "explain"):
                done = run_cli(command, "--model", model, "--json", "--file", tmp_path / name)
                found = [[w["word"] for w in json.loads(line)["words"]] for line in done.stdout.splitlines()]
                assert found == (sentences if name != "b.iob" else [sentences[0], ["Paris", "saw", "#"]])

    def test_a_word_of_several_is_one_column(self, model: Path, tmp_path: Path) -> None:
        words = ["New York", "", "a\tb\u2028c", "\u00a0", "\x1b[31m", "saw"]
        (tmp_path / "a.jsonl").write_text(json.dumps({"tokens": words}) + "\n")
        done = run_cli("predict", "--model", model, "--conll", "--file", tmp_path / "a.jsonl")
        rows = [line.split() for line in done.stdout.splitlines()]
        assert [row[0] for row in rows[:-1]] == ["New_York", "_", "a_b_c", "_", "_[31m", "saw"] and rows[-1] == []
        assert all(len(row) == 2 for row in rows[:-1])
        plain = run_cli("predict", "--model", model, "--file", tmp_path / "a.jsonl")
        assert len(plain.stdout.splitlines()) == 1 and "\t" not in plain.stdout
        shown = run_cli("explain", "--model", model, "--word", 2, "--file", tmp_path / "a.jsonl").stdout
        assert "2  a b c  " in shown and "\x1b" not in shown

    def test_the_column_of_the_training_is_read_again(self, model: Path, tmp_path: Path) -> None:
        trained = shutil.copytree(model, tmp_path / "model")
        record = read_json(trained / "lexical_sae.json")
        record["experiment"]["data"]["tokens_column"] = "2"
        (trained / "lexical_sae.json").write_text(json.dumps(record))
        rehash_model(trained)
        (tmp_path / "a.conll").write_text("1 john X\n2 saw X\n\n")
        (tmp_path / "a.jsonl").write_text(json.dumps({"tokens": ["john", "saw"], "text": "mary", "n": 3}) + "\n")

        def read(*arguments: object) -> list[list[str]]:
            done = run_cli("predict", "--model", trained, "--json", "--file", *arguments)
            return [[w["word"] for w in json.loads(line)["words"]] for line in done.stdout.splitlines()]

        assert read(tmp_path / "a.conll") == read(tmp_path / "a.jsonl") == [["john", "saw"]]
        assert read(tmp_path / "a.conll", "--column", "3") == [["X", "X"]]
        assert read(tmp_path / "a.jsonl", "--column", "text") == [["mary"]]
        done = run_cli("predict", "--model", trained, "--file", tmp_path / "a.jsonl", "--column", "n")
        expect_sentence(done, "has 3 in row 1 of column 'n', where text was expected")

    def test_columns_that_were_printed_get_the_same_tags_again(self, model: Path, tmp_path: Path) -> None:
        printed = run_cli("predict", "--model", model, "--conll", TEXTS[0], TEXTS[2]).stdout
        (tmp_path / "mine.conll").write_text(printed)
        again = run_cli("predict", "--model", model, "--conll", "--file", tmp_path / "mine.conll")
        assert again.stdout == printed

    def test_rows_with_a_text_are_texts(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
        from_rows = run_cli("predict", "--model", model, "--json", "--file", tmp_path / "a.jsonl").stdout
        assert from_rows == run_cli("predict", "--model", model, "--json", *TEXTS).stdout

    @pytest.mark.parametrize(
        ("name", "content", "parts"),
        [
            ("a.csv", "text\na\n", ("ends in .csv, which tagging does not read; name a file for tagging, or a .txt",)),
            ("a.json", "[]", ("a.json ends in none of .bio",)),
            (
                "a.jsonl",
                '{"words": ["a"]}',
                ("has no column 'tokens' or 'text', only: words; name the one to read with --column",),
            ),
            ("a.jsonl", '{"tokens": "a"}', ("has 'a' in row 1 of column 'tokens', where a list was expected",)),
        ],
    )
    def test_a_file_it_cannot_take_words_from(
        self, model: Path, tmp_path: Path, name: str, content: str, parts: tuple[str, ...]
    ) -> None:
        (tmp_path / name).write_text(content)
        expect_sentence(run_cli("predict", "--model", model, "--file", tmp_path / name), *parts)

    def test_columns_are_of_taggers_and_of_no_json(self, model: Path, toy_run: ToyRun) -> None:
        expect_sentence(run_cli("predict", "--model", model, "--conll", "--json", "a"), "Both --json and --conll")
        done = run_cli("predict", "--model", toy_run.folder / "model", "--conll", "good")
        expect_sentence(done, "The model classifies texts", "tagging was expected")

    @pytest.mark.parametrize("command", ["predict", "explain"])
    def test_words_that_were_cut_are_said(self, model: Path, command: str) -> None:
        done = run_cli(command, "--model", model, "john saw " + "xq" * 40, "mary")
        assert done.exit_code == 0 and "1 word(s) were cut to the 24 tokens the model reads." in done.stderr
        assert "cut to" not in run_cli(command, "--model", model, "john").stderr


class TestExplain:
    def test_a_sum_for_every_word_of_an_entity(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--json", *TEXTS)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        explained = [word for one in found for word in one["explained"]]
        assert done.exit_code == 0 and explained
        for word in explained:
            total = word["bias"] + sum(token["score"] for token in word["tokens"])
            assert word["target"] == word["tag"] != "O" and abs(total - word["logits"][word["tag"]]) < 1e-5
        shown = run_cli("explain", "--model", model, *TEXTS).stdout
        assert shown.count("= tokens and bias") == sum(bool(one["explained"]) for one in found)

    def test_one_word_with_its_context(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--word", 3, "--target", "B-LOC", "--context", TEXTS[0])
        assert "logit of B-LOC" in done.stdout and "When another word is deleted" in done.stdout
        assert re.search(r"^3  a  ", done.stdout, re.MULTILINE)

    def test_a_word_that_some_texts_have(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--word", 5, "--json", *TEXTS, "john saw")
        assert [len(json.loads(line)["explained"]) for line in done.stdout.splitlines()] == [1, 0, 1, 0]
        assert done.exit_code == 0 and done.stderr.splitlines() == [
            "Text 2: Word 5 was asked for, but '' has 0 word(s), counted from 0; choose another.",
            "Text 4: Word 5 was asked for, but 'john saw' has 2 word(s), counted from 0; choose another.",
        ]
        expect_sentence(run_cli("explain", "--model", model, "--word", 9, *TEXTS), "None of the 3 texts has a word 9")

    def test_context_that_was_not_measured_is_null(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--word", 0, "--context", "--json", " ".join(["john saw"] * 40))
        change = json.loads(done.stdout)["explained"][0]["context_estimate"]
        assert change[0] is change[-1] is None and isinstance(change[1], float) and len(change) == 80
        done = run_cli("explain", "--model", model, "--word", 0, "--context", " ".join(["john saw"] * 40))
        assert "words were not deleted: they are not in the window of the word." in done.stdout

    def test_interactions_are_of_classifiers(self, model: Path) -> None:
        done = run_cli("explain", "--model", model, "--interactions", TEXTS[0])
        expect_sentence(done, "interactions were asked for, but the model tags words", "by context")

    def test_refuses_in_one_sentence(self, model: Path, toy_run: ToyRun) -> None:
        expect_sentence(run_cli("explain", "--model", model, "--word", 9, TEXTS[0]), "Word 9 was asked for", "6 word")
        done = run_cli("explain", "--model", model, "--word", 9, "john\nsaw\x1b[31m")
        assert done.stderr.startswith("Word 9 was asked for, but 'john saw [31m' has") and done.stderr.count("\n") == 1
        done = run_cli("explain", "--model", model, "--target", "per", TEXTS[0])
        expect_sentence(done, "no label 'per'", "Did you mean 'B-PER' or 'I-PER'?")
        done = run_cli("explain", "--model", toy_run.folder / "model", "--word", 0, "good")
        expect_sentence(done, "The model classifies texts", "tagging was expected")

    def test_a_word_may_keep_its_most_active_tokens_alone(self, model: Path, toy_run: ToyRun) -> None:
        explained = [
            word
            for line in run_cli("explain", "--model", model, "--json", "--topk", 2, *TEXTS).stdout.splitlines()
            for word in json.loads(line)["explained"]
        ]
        assert {len(word["tokens"]) for word in explained} == {2}
        for word in explained:
            total = word["bias"] + sum(token["score"] for token in word["tokens"])
            assert abs(total - word["logits"][word["tag"]]) < 1e-5
        whole, again, capped = (
            run_cli("predict", "--model", model, "--json", "--topk", k, TEXTS[0]).stdout for k in (0, 10_000, 1)
        )
        assert whole == again != capped
        assert run_cli("predict", "--model", model, "--json", "--topk", 10**30, TEXTS[0]).stdout == whole
        for command in ("predict", "explain"):
            done = run_cli(command, "--model", toy_run.folder / "model", "--topk", 2, "good")
            expect_sentence(done, "The model classifies texts", "tagging was expected")


class TestEvaluate:
    def test_follows_the_settings_a_trained_model_can_follow(self, model: Path) -> None:
        done = run_cli("evaluate", "--model", model, "--json", "--set", "model.topk_per_position=2")
        assert json.loads(done.stdout)["active_tokens"]["max"] == 2
        for setting in ("model.neighbours=3", "training.epochs=9"):
            done = run_cli("evaluate", "--model", model, "--set", setting)
            expect_sentence(done, setting.partition("=")[0], "the model is trained", "leave it out")

    def test_figures_of_a_capped_model_are_not_taken_for_those_of_the_whole(
        self, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path))
        command = ("evaluate", "--model", model, "--measures", "sparsity", "--json")
        whole, capped, again = (
            json.loads(run_cli(*command, *more).stdout)["active_tokens"]["mean"]
            for more in ((), ("--set", "model.topk_per_position=1"), ())
        )
        assert capped <= 1 < whole == again

    def test_gives_the_figures_of_the_training_run(self, toy_tagger: ToyRun, model: Path) -> None:
        found = json.loads(run_cli("evaluate", "--model", model, "--json").stdout)
        reported = read_json(toy_tagger.folder / "results.json")
        for key in ("task", "f1", "per_type", "token_accuracy", "topk_per_position", "completeness_entities", "words"):
            assert found[key] == reported[key], key
        shown = run_cli("evaluate", "--model", model).stdout
        assert f"{100 * reported['f1']:.1f} %" in shown and "active tokens a word" in shown
        assert all(f"│ {name} " in shown for name in reported["per_type"])

    def test_says_what_was_done_to_the_tags(self, model: Path, tmp_path: Path) -> None:
        path = write_conll(tmp_path / "test.conll", [["john", "saw", "paris"]], [["S-PER", "O", "S-LOC"]])
        done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={path}")
        assert done.exit_code == 0 and "BIOES" in done.stdout and "rewritten as IOB2" in done.stdout

    def test_a_file_of_data_need_not_name_the_task(self, toy_tagger: ToyRun, model: Path, tmp_path: Path) -> None:
        files = {f"{part}_file": str(toy_tagger.data / f"{part}.conll") for part in ("train", "test")}
        (tmp_path / "data.yaml").write_text(yaml.safe_dump({"data": files}))
        assert run_cli("evaluate", "--model", model, "--config", tmp_path / "data.yaml").exit_code == 0


class TestTrain:
    def test_prints_the_figures(self, toy_tagger: ToyRun) -> None:
        results, shown = read_json(toy_tagger.folder / "results.json"), toy_tagger.result.stdout
        assert f"{100 * results['f1']:.1f} %" in shown and "│ LOC " in shown
        assert "entity F1, 20 tokens" in shown and "largest error of the sum" in shown
        assert "validation f1" in toy_tagger.result.stderr
        said = toy_tagger.result.stderr.splitlines()  # of the data, before the training
        assert said[0].startswith("Data: Own files") and said[1].startswith("Note: ") and "occur both" in said[1]

    def test_a_dry_run_counts_sentences(self, toy_tagger: ToyRun, tmp_path: Path) -> None:
        done = run_cli("train", *training(toy_tagger, tmp_path / "out"), "--dry-run")
        assert "# 64 training, 16 validation, 24 test sentences; labels: O, B-LOC" in done.stdout

    def test_the_report_and_the_card_are_of_a_tagger(self, toy_tagger: ToyRun) -> None:
        page = (toy_tagger.folder / "report.html").read_text(encoding="utf-8")
        card = (toy_tagger.folder / "README.md").read_text(encoding="utf-8")
        for part in ("Entities by type", "Entity F1", "Active tokens a word", "Explained sentences", "tags words"):
            assert part in page, part
        for wrong in ("classifier", "a text", ">Accuracy<", "None", "nan"):
            assert wrong not in re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", page, flags=re.DOTALL), wrong
        assert "pipeline_tag: token-classification" in card and "text.tagged.entities" in card and "| LOC |" in card
        assert "dataset_name: null" in card and "train.conll" in card  # own files, not the set named by default

    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            ([], 0, "task: tagging"),
            (["--set", "task=classification"], 2, "this command is for tagging"),
        ],
    )
    def test_run_ner_is_the_same_command_for_taggers(
        self,
        toy_tagger: ToyRun,
        tmp_path: Path,
        arguments: list[str],
        code: int,
        said: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        settings = yaml.safe_load((toy_tagger.folder / "config.yaml").read_text())
        del settings["task"]
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(settings))
        own = ["--config", str(tmp_path / "mine.yaml"), "--set", f"output_dir={tmp_path / 'out'}", "--dry-run"]
        monkeypatch.setattr(sys, "argv", ["run_ner", *own, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("splade.scripts.run_ner", run_name="__main__")
        assert (ended.value.code or 0) == code
        printed = capsys.readouterr()
        assert said in printed.out + printed.err


class TestBadInput:
    """Each in one sentence, before anything is written."""

    def refuse(self, run: ToyRun, output: Path, *parts: str, **changes: object) -> None:
        expect_sentence(run_cli("train", *training(run, output, **changes)), *parts)
        assert not output.exists()

    def test_tags_that_do_not_match_the_words_in_number(self, toy_tagger: ToyRun, tmp_path: Path) -> None:
        path = tmp_path / "own.jsonl"
        path.write_text(json.dumps({"tokens": ["john", "saw"], "tags": ["B-PER"]}) + "\n")
        parts = ("own.jsonl has 2 words but 1 tags in sentence 1", "correct the sentence")
        self.refuse(toy_tagger, tmp_path / "out", *parts, data__train_file=str(path))

    def test_only_empty_sentences(self, toy_tagger: ToyRun, tmp_path: Path) -> None:
        path = tmp_path / "own.jsonl"
        path.write_text(json.dumps({"tokens": [], "tags": []}) + "\n")
        self.refuse(toy_tagger, tmp_path / "out", "has no words", data__test_file=str(path))

    def test_some_empty_sentences_are_left_out_and_said(self, model: Path, tmp_path: Path) -> None:
        path = tmp_path / "own.jsonl"
        rows = [{"tokens": [], "tags": []}, {"tokens": ["john"], "tags": ["B-PER"]}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={path}")
        assert done.exit_code == 0 and "1 sentence(s) without words were left out" in done.stdout

    def test_unknown_tags_at_evaluation(self, model: Path, tmp_path: Path) -> None:
        path = write_conll(tmp_path / "test.conll", [["john", "saw"]], [["B-PRE", "O"]])
        done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={path}")
        said = expect_sentence(done, "has the tag 'B-PRE' in sentence 1 (at 'john')", "Did you mean 'B-PER'?")
        assert "the model can give no other, so correct the data" in said and "data.labels" not in said

    def test_a_label_set_without_o(self, toy_tagger: ToyRun, tmp_path: Path) -> None:
        labels = ["B-LOC", "I-LOC", "B-PER", "I-PER"]
        self.refuse(toy_tagger, tmp_path / "out", "The label set has no tag 'O'", data__labels=labels)

    def test_a_slow_tokenizer(self, toy_tagger: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pretrained.AutoTokenizer, "from_pretrained", lambda *_, **__: object())
        self.refuse(toy_tagger, tmp_path / "out", "has only a slow tokenizer")

    def test_a_lexicon(self, toy_tagger: ToyRun, model: Path, tmp_path: Path) -> None:
        self.refuse(
            toy_tagger,
            tmp_path / "out",
            "a model that tags words has no good and bad words; leave it null",
            evaluation__lexicon="vader",
        )
        done = run_cli("evaluate", "--model", model, "--set", "evaluation.lexicon=vader")
        expect_sentence(done, "evaluation.lexicon is set", "tags words", "leave it null")

    def test_a_classifier_given_tagged_data(self, toy_run: ToyRun, toy_tagger: ToyRun, tmp_path: Path) -> None:
        path = tmp_path / "own.jsonl"
        path.write_text(json.dumps({"tokens": ["john"], "tags": ["B-PER"]}) + "\n")
        for file, parts in (
            (path, ("holds 'tokens' for tagging, but classification needs 'text'", "trained for classification")),
            (toy_tagger.data / "test.conll", ("ends in .conll, which classification does not", "--file or --config")),
        ):
            done = run_cli("evaluate", "--model", toy_run.folder / "model", "--set", f"data.test_file={file}")
            expect_sentence(done, *parts)

    def test_a_tagger_given_texts_with_labels(self, model: Path, tmp_path: Path) -> None:
        rows = tmp_path / "own.jsonl"
        rows.write_text(json.dumps({"text": "john", "label": "good"}) + "\n")
        csv = write_csv(tmp_path / "own.csv", ["john"], ["good"])
        for file, parts in (
            (rows, ("holds 'text' for classification, but tagging needs 'tokens'",)),
            (csv, ("ends in .csv, which tagging does not read",)),
        ):
            done = run_cli("evaluate", "--model", model, "--set", f"data.test_file={file}")
            expect_sentence(done, *parts)
