from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from splade.config.schema import Task
from splade.reporting.model_card import front_matter, is_hub_name, plain, write_model_card
from splade.surgery.record import Account
from splade.surgery.suppress import restore, suppress_token_globally
from tests.builders import build_model
from tests.reporting.builders import build_many_classes, build_results

CONFIG = "seed: 42\ndata:\n  dataset_name: toy\n"


def card(tmp_path: Path, results: dict[str, Any]) -> str:
    write_model_card(tmp_path / "model" / "README.md", results, CONFIG)
    return (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_front_matter_is_yaml_the_hub_reads_and_claims_no_licence(tmp_path: Path) -> None:
    text = card(tmp_path, build_results())
    assert text.startswith("---\n")
    metadata = yaml.safe_load(text.split("---\n")[1])
    assert metadata["library_name"] == "lexical-sae"
    assert metadata["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert "license" not in metadata and "datasets" not in metadata


@pytest.mark.parametrize("backbone", ["/home/somebody/bert", "./bert", "../x/y/z", "bert", None])
def test_a_path_is_not_published_as_a_base_model(backbone: str | None) -> None:
    assert "base_model" not in yaml.safe_load(front_matter({"backbone": backbone}))


def test_a_folder_that_exists_here_is_not_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_hub_name("models/mine")
    (tmp_path / "models" / "mine").mkdir(parents=True)
    assert not is_hub_name("models/mine")


def test_figures_limits_and_configuration_are_there(tmp_path: Path) -> None:
    text = card(tmp_path, build_results())
    for part in (
        "| accuracy | 83.2 % | dense head 84.1 %",
        "## Grounding",
        "## Limits",
        "from_pretrained",
        CONFIG.strip(),
    ):
        assert part in text
    assert "Removed tokens" not in text


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_its_example_runs(
    tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = build_model(tmp_path / "backbone", task=task)
    model.save_pretrained(tmp_path / "path" / "to" / "model")
    monkeypatch.chdir(tmp_path)
    text = card(tmp_path, {"task": task})
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "model.explain([" in example  # as in the README
    names: dict[str, Any] = {}
    exec(example, names)
    if task == "classification":
        words = [word.word for word in names["explanation"].words]
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [word.split()[0] for word in words]
    else:
        text = names["text"]
        lines = len(text.tagged.entities) + len(text.explained)
        assert len(capsys.readouterr().out.splitlines()) == lines > 0


def test_removed_tokens_are_listed(tmp_path: Path) -> None:
    assert "depend on them: woman, a\\|b." in card(tmp_path, {"removed_tokens": ["woman", "a|b"]})


def test_every_label_of_few(tmp_path: Path) -> None:
    text = card(tmp_path, build_results())
    assert "| negative | 82.2 % | 83.4 % | 81.9 % | 82.5 % | 400 | 403 |" in text
    assert "| positive | 73 | 380 |" in text


def test_the_worst_of_many_and_what_is_taken_for_what(tmp_path: Path) -> None:
    text = card(tmp_path, build_many_classes())
    assert "Of 77 labels, those with the lowest F1." in text
    assert "| label\\_39 | label\\_40 | 39 | 40 |" in text
    rows = [line for line in text.splitlines() if re.match(r"\| label\\_\d+ \| \d", line)]
    assert len(rows) == 5 and rows[0].startswith("| label\\_39 | 2.5 % |")


def test_a_card_without_results_says_that_grounding_was_not_measured(tmp_path: Path) -> None:
    text = card(tmp_path, {})
    assert "## Figures" not in text and "none were measured here" in text
    assert "none were measured here" not in card(tmp_path, build_results())


def test_values_cannot_break_a_table() -> None:
    assert plain("a\n| b <img>") == "a \\| b \\<img\\>"


def test_the_record_of_removals_is_a_section(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    figures = {"before": {"gap": [0.2, 0.1, 0.3]}, "after": {"gap": [0.1, 0.0, 0.2]}}
    account = Account("A|B", "auditor", "bias", "sorting", groups={"women": "a list"}, figures=figures)
    suppress_token_globally(model, ["film"], ["plot"], account=account, probes=())
    restore(model, words=["plot"], probes=())
    path = tmp_path / "README.md"
    write_model_card(path, {"removed_tokens": ["film"]}, CONFIG, model.surgery)
    text = path.read_text(encoding="utf-8")
    assert "## Record of removals" in text and "Intended purpose, as whoever removed words gave it: sorting." in text
    rows = [line for line in text.splitlines() if re.match(r"\| [01] \|", line)]
    assert "removed (tokens shut: film; words silenced: plot) | A\\|B, auditor | bias |" in rows[0]
    assert "restored (words silenced: plot) | not said | not said |" in rows[1]
    assert "Metrics before and after (record 0)" in text and "how they were derived (record 0)" in text
    assert "Not guaranteed:\n\n- A token that is shut" in text
    write_model_card(path, {}, CONFIG, [model.surgery[1]])
    assert "Record 0 (counted from 0) cannot be trusted" in path.read_text(encoding="utf-8")
