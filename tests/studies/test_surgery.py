"""The study of surgery from end to end on a toy run: what it leaves, that nothing is run twice, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from splade.config.load import load_config
from splade.studies import surgery
from splade.studies.conditions import CONDITIONS, coded
from splade.studies.surgery_data import unseen_part
from splade.studies.surgery_findings import base_of, number_of, shown
from tests.builders import NOUNS
from tests.runs import ToyRun, expect_sentence, read_json

ASKED = {
    "surgery__words": "listed",
    "surgery__refit_epochs": 1,
    "surgery__random_draws": 2,
    "evaluation__bias_positive": ["positive"],
}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """Words to remove, and groups by words."""
    words, terms = tmp_path / "words.txt", tmp_path / "terms.txt"
    words.write_text("good\nfilm\n")
    terms.write_text(f"pictures: {', '.join(NOUNS[:12])}\nnobody: zzyzx, {NOUNS[13]}\n")
    return {**ASKED, "surgery__words_file": str(words), "evaluation__bias_terms": str(terms)}


def test_it_leaves_results_a_table_and_a_page_and_runs_nothing_twice(
    run_study_cli: Callable[..., Result],
    toy_run: ToyRun,
    tmp_path: Path,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ("--model", str(toy_run.folder / "model"))
    done = run_study_cli("surgery", *model, **settings)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "surgery"
    found = read_json(folder / "results.json")
    assert found["words"]["words"] == ["good", "film"] and set(found["conditions"]) == set(CONDITIONS.names())
    assert found["conditions"]["random"]["draws"] == ["random 1", "random 2"]
    test = found["sets"]["test"]
    assert set(test["conditions"]) == {draw for each in found["conditions"].values() for draw in each["draws"]}
    assert set(test["changes"]) == set(test["conditions"]) - {"baseline"}
    assert test["summary"]["suppression_refit"]["accuracy"]["mean"] == pytest.approx(
        test["conditions"]["suppression_refit"]["fixed"]["accuracy"]["mean"]
    )
    assert set(found["swaps"]) == {"baseline", "suppression_refit"} and found["took_over"] is not None
    table, page = ((folder / name).read_text(encoding="utf-8") for name in ("table.md", "report.html"))
    assert all(
        CONDITIONS.get(name).title in table and CONDITIONS.get(name).title in page for name in CONDITIONS.names()
    )
    assert "http://" not in page.replace("http://www.w3.org", "") and "<script" not in page

    def never(*_: object, **__: object) -> Any:
        raise AssertionError("what is finished is run again")

    monkeypatch.setattr(coded, "read_codes", never)
    monkeypatch.setattr(CONDITIONS.get("suppression_refit"), "run", never)
    again = run_study_cli("surgery", *model, **settings)
    assert again.exit_code == 0, again.output
    assert read_json(folder / "results.json")["sets"] == found["sets"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evaluation__bias_terms": None}, "The data has no columns of groups"),
        ({"surgery__test_sets": ["nowhere"]}, "There is no set 'nowhere' in the data root nor among the packages"),
        ({"surgery__words": "gap", "surgery__conditions": ["suppression"]}, "negative validation texts"),
        ({"surgery__conditions": ["leace_tokens"]}, "LEACE erases groups that 20 training texts are about"),
        ({"evaluation__bias_positive": ["good"]}, "names 'good', which is none of the labels"),
        ({"surgery__conditions": ["supression"]}, "suppression"),
    ],
)
def test_what_it_refuses(
    run_study_cli: Callable[..., Result],
    toy_run: ToyRun,
    settings: dict[str, Any],
    changes: dict[str, Any],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)
    if "surgery__conditions" in changes:
        terms = Path(str(settings["evaluation__bias_terms"]))
        terms.write_text(f"nobody: {NOUNS[13]}\n")
    done = run_study_cli("surgery", "--model", str(toy_run.folder / "model"), **settings | changes)
    expect_sentence(done, said)


def test_unseen_sets_have_their_own_labels_and_templates(tmp_path: Path) -> None:
    folder = tmp_path / "probe"
    folder.mkdir()
    (folder / "meta.json").write_text('{"labels": ["benign", "toxic"]}')
    rows = [f'{{"text": "text {n}", "label": {n % 2}, "groups": ["a"], "template": "{n // 2}"}}\n' for n in range(6)]
    (folder / "test.jsonl").write_text("".join(rows))
    part = unseen_part("probe", load_config(None, [f"data.root={tmp_path}"]))
    assert part.positive.tolist() == [False, True] * 3 and part.members["a"].all()
    assert part.drawn is not None and part.drawn.tolist() == [0, 0, 1, 1, 2, 2]


def test_draws_are_told_from_conditions() -> None:
    assert (base_of("random_refit 2"), number_of("random_refit 2")) == ("random_refit", 2)
    assert (base_of("balanced"), number_of("balanced")) == ("balanced", 0)
    assert shown({"mean": -0.0314, "low": -0.05, "high": 0.001}, signed=True) == "−3.1 [−5.0, +0.1]"
    assert surgery.NAME == "surgery"
