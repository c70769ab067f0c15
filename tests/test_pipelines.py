"""A run from end to end: what it leaves, and that its options do what they say."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console

from splade.config.load import load_config
from splade.data.loader import load_dataset
from splade.inference import predict_batch
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import measure_again, run_experiment, setup_and_train
from splade.run_folder import LOCK, OWNER
from splade.training.recipes import resolved
from tests.builders import toy_reviews
from tests.runs import (
    LABELS,
    RUN_FILES,
    ToyRun,
    read_json,
    run_cli,
    tiny_config,
    write_csv,
    write_reviews,
)


class TestWhatARunLeaves:
    def test_every_file_of_the_design_and_no_other(self, toy_run: ToyRun) -> None:
        assert {path.name for path in toy_run.folder.iterdir()} == {*RUN_FILES, OWNER, LOCK}

    def test_results_have_their_documented_keys(self, toy_run: ToyRun) -> None:
        results = read_json(toy_run.folder / "results.json")
        assert results.keys() >= {
            *("task", "dataset", "backbone", "recipe", "support", "seed", "versions", "seconds", "peak_rss_mb"),
            *("accuracy", "macro_f1", "dla", "active_tokens", "sparsity", "vocab_size", "completeness"),
            *("separation", "grounding", "labels", "samples", "notes"),
        }
        assert (results["task"], results["dataset"], results["support"]) == ("classification", "train", "neighbourhood")
        assert results["seconds"].keys() >= {"train", "eval"} and results["seconds"]["train"] > 0
        assert results["dla"].keys() == {"max_error", "mean_error"} and results["dla"]["max_error"] <= 1e-4
        assert results["active_tokens"].keys() >= {"mean", "p50", "p95"}
        assert list(results["completeness"]) == ["0.01", "0.05", "0.1", "0.2", "0.5"]
        for figures in results["completeness"].values():
            assert figures.keys() == {"accuracy", "kl", "random_accuracy"}
        assert results["separation"].keys() >= {"cosine", "jaccard"}
        assert results["grounding"].keys() >= {"input_share", "frozen_share", "self_activation"}
        assert results["samples"] == {"train": 128, "validation": 48, "test": 48}
        assert results["labels"] == LABELS

    def test_figures_a_label_add_up(self, toy_run: ToyRun) -> None:
        results = read_json(toy_run.folder / "results.json")
        assert list(results["per_class"]) == LABELS
        for number, of in enumerate(results["per_class"].values()):
            assert of.keys() == {"precision", "recall", "f1", "support", "predicted"}
            assert sum(results["confusion"][number]) == of["support"] == 24
            assert sum(row[number] for row in results["confusion"]) == of["predicted"]
        assert np.trace(results["confusion"]) / 48 == pytest.approx(results["accuracy"])
        assert results["accuracy_interval"]["low"] < results["accuracy"] < results["accuracy_interval"]["high"]
        assert results["grounding"]["heaviest"].keys() == {"token", "share", "rows", "by_class"}

    def test_findings_end_in_the_notes_the_terminal_and_the_report(self, toy_run: ToyRun) -> None:
        """48 test texts are too few, which is one at least."""
        results = read_json(toy_run.folder / "results.json")
        assert results["findings"] and results["notes"][-len(results["findings"]) :] == results["findings"]
        (few,) = (note for note in results["findings"] if note.startswith("With 48 test texts, accuracy"))
        assert f"Note: {few}" in toy_run.result.stdout
        assert few in (toy_run.folder / "report.html").read_text(encoding="utf-8")
        assert few in (toy_run.folder / "README.md").read_text(encoding="utf-8")

    def test_measured_again_nothing_is_noted_twice_and_nothing_stale_is_kept(
        self, toy_run: ToyRun, tmp_path: Path
    ) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "run")
        earlier = read_json(folder / "results.json")
        stale, kept = "The token 'x' carries 99.0 % of all contribution.", "Some texts were cut."
        earlier |= {"findings": [stale], "notes": [kept, stale]}
        (folder / "results.json").write_text(json.dumps(earlier), encoding="utf-8")
        config = dataclasses.replace(load_config(folder / "config.yaml"), output_dir=str(folder))
        results = measure_again(config, console=Console(quiet=True))
        assert results["notes"] == [kept, *results["findings"]] and stale not in results["notes"]

    def test_words_that_are_shut_in_the_model_are_on_its_card(self, toy_run: ToyRun, tmp_path: Path) -> None:
        folder = shutil.copytree(toy_run.folder, tmp_path / "run")
        config = dataclasses.replace(load_config(folder / "config.yaml"), output_dir=str(folder))
        assert "Removed tokens" not in (folder / "README.md").read_text(encoding="utf-8")
        model = LexicalSAE.from_pretrained(folder / "model")
        model.suppress(["good", "Bad"])
        model.save_pretrained(folder / "model")
        results = measure_again(config, console=Console(quiet=True))
        assert sorted(results["removed_tokens"]) == ["bad", "good"]
        assert read_json(folder / "results.json")["removed_tokens"] == results["removed_tokens"]
        named = ", ".join(results["removed_tokens"])
        assert f"do not depend on them: {named}." in (folder / "README.md").read_text(encoding="utf-8")
        shutil.rmtree(folder / "model")
        shutil.copytree(toy_run.folder / "model", folder / "model")
        assert "removed_tokens" not in measure_again(config, console=Console(quiet=True))

    def test_the_toy_reviews_are_learnt(self, toy_run: ToyRun) -> None:
        """Below this the other tests would compare models that know nothing."""
        assert read_json(toy_run.folder / "results.json")["accuracy"] > 0.7

    def test_the_settings_read_back(self, toy_run: ToyRun) -> None:
        assert load_config(toy_run.folder / "config.yaml") == resolved(load_config(None, toy_run.settings))

    def test_the_model_loads_and_its_accuracy_is_the_reported_one(self, toy_run: ToyRun) -> None:
        config = load_config(toy_run.folder / "config.yaml")
        model, data = LexicalSAE.from_pretrained(toy_run.folder / "model"), load_dataset(config.data, config.seed)
        results = read_json(toy_run.folder / "results.json")
        for split, reported in ((data.test, results["accuracy"]), (data.validation, results["validation"]["accuracy"])):
            found = [p.label for p in predict_batch(model, split.texts)]
            right = np.mean([label == data.label_names[gold] for label, gold in zip(found, split.labels, strict=True)])
            assert right == pytest.approx(reported, abs=1e-6)

    def test_the_report_needs_nothing_else_and_explains_texts(self, toy_run: ToyRun) -> None:
        page = (toy_run.folder / "report.html").read_text(encoding="utf-8")
        assert "<svg" in page and 'src="http' not in page and 'href="http' not in page
        texts = load_dataset(load_config(toy_run.folder / "config.yaml").data, 42).test.texts
        assert sum(text.split()[-2] in page for text in texts) > 10
        assert 1 <= page.count("Words that act through others") <= 4

    def test_the_model_card_is_readable(self, toy_run: ToyRun) -> None:
        card = (toy_run.folder / "README.md").read_text(encoding="utf-8")
        assert card.startswith("---\n") and yaml.safe_load(card.split("---")[1])


class TestOptions:
    def test_dense_baseline_and_lexicon(self, toy_run: ToyRun, tmp_path: Path) -> None:
        (tmp_path / "ratings.tsv").write_text("good\t2\ncharming\t2\nawful\t-2\ndull\t-1.5\n")
        changes = {"evaluation__dense_baseline": True, "evaluation__lexicon": str(tmp_path / "ratings.tsv")}
        done = run_cli("train", *toy_run.sets(tmp_path / "out", training__max_steps=6, **changes))
        assert done.exit_code == 0, done.output
        results = read_json(tmp_path / "out" / "results.json")
        assert results["dense_accuracy"] == results["dense"]["accuracy"] and 0 <= results["dense"]["macro_f1"] <= 1
        assert results["dense"]["seconds_per_step"] > 0
        assert list(results["dense"]["per_class"]) == LABELS and len(results["dense"]["confusion"]) == 2
        assert "dense head's" in done.stdout  # F1 beside each label's own, where the width of the terminal breaks it
        assert results["grounding"]["lexicon"]["name"].endswith("ratings.tsv")
        said = " ".join(done.stdout.replace("│", " ").split())  # the width of the terminal breaks cells
        assert "(dense head" in said and "seconds a step" in said and "of the right sign" in said
        assert {path.name for path in (tmp_path / "out" / "dense").iterdir()} == {"metrics.jsonl", "model"}

    def test_an_accuracy_that_imbalance_makes_is_said_to_be_none(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """One text in sixteen is called negative, whatever it says: there is only the frequent label to learn."""
        data = tmp_path / "data"
        for seed, name in enumerate(("train", "validation", "test")):
            write_csv(data / f"{name}.csv", toy_reviews(96, seed)[0], [LABELS[n % 16 > 0] for n in range(96)])
        results = run_experiment(tiny_config(data, toy_run.backbone, tmp_path / "out"))
        assert results["accuracy"] > 0.85 and results["macro_f1"] < 0.6
        assert any("than the 93.8 % of always answering 'positive'" in note for note in results["notes"])

    def test_the_dense_baseline_is_warmed_up_too(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"training__mlm_warmup_steps": 2, "training__max_steps": 5, "evaluation__dense_baseline": True}
        run_experiment(toy_run.config(tmp_path, **changes))
        own, dense = ((tmp_path / part / "metrics.jsonl").read_text().splitlines()[0] for part in ("", "dense"))
        assert own == dense and '"mlm_step": 2' in own  # loss and all: the very same warm-up

    def test_without_sparsity_the_note_is_about_cross_entropy_alone(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"training__loss_weights__sparsity": 0.0, "training__target_accuracy": 0.999}  # out of reach
        notes = setup_and_train(toy_run.config(tmp_path, training__max_steps=5, **changes)).prepared.notes
        assert any("the constraint on cross-entropy;" in note and "active_target" not in note for note in notes)

    def test_cut_texts_are_counted_and_said(self, toy_run: ToyRun, tmp_path: Path) -> None:
        changes = {"data__max_length": 8, "training__max_steps": 5, "training__batch_size": None}
        results = run_experiment(toy_run.config(tmp_path, **changes))
        cut = results["training"]["truncated"]
        assert cut > 0 and f"{cut} of 128 training texts were cut to 8 tokens." in results["notes"]
        assert results["training"]["batch_size"] in (4, 8, 16, 32, 64)

    def test_empty_texts_train_and_predict(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """Texts of nothing but stop words and texts of nothing at all: no crash, and no active token."""
        data = write_reviews(tmp_path / "data", 64, 16, 16)
        for name in ("train", "validation", "test"):
            write_csv(data / f"{name}.csv", ["", "the of"] * 16, LABELS * 16)
        results = run_experiment(tiny_config(data, toy_run.backbone, tmp_path / "out", training__epochs=4))
        assert results["active_tokens"]["mean"] == 0.0 and results["accuracy"] == 0.5
        model = LexicalSAE.from_pretrained(tmp_path / "out" / "model")
        assert [p.active_tokens for p in predict_batch(model, ["", "   "])] == [0, 0]

    @pytest.mark.parametrize("support", ["full", "dictionary", "neighbourhood+dictionary"])
    def test_every_support_trains_and_loads(self, toy_run: ToyRun, tmp_path: Path, support: str) -> None:
        changes = {"model__support": support, "model__dictionary_size": 60, "training__max_steps": 5}
        run = setup_and_train(toy_run.config(tmp_path, **changes)).prepared
        loaded = LexicalSAE.from_pretrained(tmp_path / "model")
        texts = run.dataset.test.texts[:8]
        assert predict_batch(loaded, texts) == predict_batch(run.model, texts)
