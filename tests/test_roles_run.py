"""A whole run of a tagger whose words speak for one another: trained, measured, reported, saved and explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_backbone_folder
from tests.runs import overrides, run_cli, sets, write_sentences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roles")
    settings = write_sentences(folder) | {"model__support": "neighbourhood", "model__head": "tied_mlp"}
    changes = {"model__context": 2, "training__loss_weights.deletion": 1.0, "training__epochs": 3, **settings}
    settings_given = overrides(folder, build_backbone_folder(folder), folder / "run", **changes)
    done = run_cli("train", *sets(settings_given))
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_figures(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert results["dla"]["max_error"] < 1e-4
    assert results["strongest"] and 0 < results["grounding"]["input_share"] < 1
    assert results["vocab_size"] % 5 == 0
    steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any(step.get("deletion", 0) > 0 for step in steps)


def test_explained_from_the_saved_model(folder: Path) -> None:
    model = LexicalSAE.from_pretrained(folder / "model")
    [found] = model.explain(["john smith saw a movie in paris ."], word=1)
    [word] = found.explained
    assert word.explanation.check() < 1e-4
    assert [w.offset for w in word.explanation.words] == [-1, 0, 1, 2]


def test_printed(folder: Path) -> None:
    told = run_cli("explain", "--model", folder / "model", "--word", 1, "--json", "john smith saw paris .")
    [entry] = json.loads(told.stdout)["explained"]
    assert [w["word"] for w in entry["words"]] == ["john", "smith", "saw", "paris"]
    total = entry["bias"] + sum(w["score"] for w in entry["words"])
    assert total == pytest.approx(entry["logits"][entry["target"]], abs=1e-4)
    assert "← john" in run_cli("explain", "--model", folder / "model", "--word", 1, "john smith saw").stdout
