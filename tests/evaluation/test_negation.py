"""The measure of negation: where it is wanted, what it writes, and what a reader should not miss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.evaluation.estimate import Estimate
from splade.evaluation.measure import References
from splade.evaluation.minimal_pairs import FORMS, FormFigures, MinimalPairs
from splade.evaluation.negation import Negation, NegationResult
from splade.evaluation.run import chosen_measures, evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews
from tests.evaluation.test_hatecheck import CASES


@pytest.fixture
def model(tmp_path: Path) -> LexicalSAE:
    model = build_model(tmp_path, exclude_stop_words=False)
    model.labels = ["negative", "positive"]
    return model


def written(model: LexicalSAE, *, training: bool = True, **settings: Any) -> dict[str, Any]:
    task, learnt = (ClassificationTask(TextSplit(*toy_reviews(n)), model.tokenizer, 64) for n in (8, 200))
    references = References(load_training=lambda: learnt if training else None)
    config = EvaluationConfig(batch_size=16, measures=["negation"], **settings)
    return evaluate(model, task, config, share=0.1, references=references).to_json()


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)


def test_of_a_model_of_good_and_bad(model: LexicalSAE) -> None:
    results = written(model)
    found = results["negation"]
    assert found["hatecheck"] is None and set(found["pairs"]["forms"]) == set(FORMS)
    assert {"good", "lovely"} & set(found["pairs"]["positive"]) and {"dull", "bad"} & set(found["pairs"]["negative"])
    grid = Negation.tables[0].read(results)
    assert grid is not None and len(grid.rows) == 2 * len(FORMS)
    assert [grid.rows[2][0].text, grid.rows[len(FORMS) + 2][0].text] == ["is not good", "is not bad"]
    assert Negation.tables[1].read(results) is None
    for figure in Negation.figures[:3]:
        assert figure.read(results) is not None


def test_of_a_model_of_hate(model: LexicalSAE, tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    model.labels = ["normal", "hatespeech"]
    results = written(model, training=False, hatecheck_file=str(tmp_path / "cases.jsonl"))
    found = results["negation"]
    assert found["pairs"] is None and found["hatecheck"]["texts"] == 4
    grid = Negation.tables[1].read(results)
    assert grid is not None and [row[0].text for row in grid.rows] == ["negate_pos_h", "negate_neg_nh", "derog_h"]
    assert all(figure.read(results) is not None for figure in Negation.figures[5:])


@pytest.mark.parametrize(
    ("labels", "training"),
    [(["sports", "business"], True), (["negative", "positive"], False), (["normal", "hateful"], True)],
)
def test_where_there_is_nothing_to_measure_there_is_no_key(
    labels: list[str], training: bool, model: LexicalSAE
) -> None:
    model.labels = labels
    assert "negation" not in written(model, training=training)


def test_it_is_taken_on_request_alone_and_of_classifiers() -> None:
    assert Negation not in chosen_measures(EvaluationConfig(), "classification")
    with pytest.raises(ConfigError, match="for classification"):
        chosen_measures(EvaluationConfig(measures=["negation"]), "tagging")


def test_a_data_root_that_is_gone_stops_nobody_who_asks_for_something_else(
    model: LexicalSAE, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model.labels = ["normal", "hateful"]
    monkeypatch.setenv("LEXICAL_SAE_DATA", str(tmp_path / "gone"))
    task = ClassificationTask(TextSplit(*toy_reviews(8)), model.tokenizer, 64)
    scope: Any = type("Scope", (), {"model": model, "task": task, "config": EvaluationConfig()})
    assert Negation.sources(scope) == []


def test_a_label_that_does_not_follow_is_said() -> None:
    def figures(share: float) -> FormFigures:
        return FormFigures(*[Estimate(share, share, share)] * 7)

    forms = {name: {"positive": figures(1.0), "negative": figures(0.1)} for name in FORMS}
    pairs = MinimalPairs(forms, ["good"], ["bad"], 1.0, 8)
    found = Negation.findings(None, NegationResult(pairs, None))  # type: ignore[arg-type]
    assert found == [
        "Negated, bad adjectives turn the label in only 10.0 % of short sentences: do not trust this model with such "
        "negations."
    ]
    assert Negation.findings(None, NegationResult(None, None)) == []  # type: ignore[arg-type]
