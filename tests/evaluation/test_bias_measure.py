"""The measure of bias: on a tiny model, a whole run, and what a reader should not miss."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from splade.config.load import load_config
from splade.config.schema import EvaluationConfig
from splade.data.identity_terms import IDENTITY_TERMS, load_terms
from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError, LexicalSAEError
from splade.evaluation.bias_measure import Bias, ModelBias
from splade.evaluation.bias_table import FIGURES, TABLES, bias_findings
from splade.evaluation.estimate import Estimate
from splade.evaluation.group_rates import ErrorRates, GroupRate, LargestGap, Null
from splade.evaluation.measure import References
from splade.evaluation.run import chosen_measures, evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import evaluate_saved, run_experiment
from splade.tasks import ClassificationTask
from tests.builders import NOUNS, build_model, toy_reviews
from tests.evaluation.test_declared import at, expanded
from tests.runs import ToyRun


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    model = build_model(tmp_path_factory.mktemp("bias"), exclude_stop_words=False)
    model.labels = ["normal", "hateful"]
    return model


ABOUT = {"film": {*NOUNS[:8]}, "actor": {*NOUNS[8:16]}, "plot": {*NOUNS[16:24]}}


def split(number: int, seed: int = 0) -> TextSplit:
    """Toy reviews with two nouns each, and so of one group, of two, or of none."""
    texts, labels = toy_reviews(number, seed)
    about: list[object] = [[name for name, nouns in ABOUT.items() if nouns & {*text.split()}] for text in texts]
    return TextSplit(texts, labels, {"groups": about})


def measured(model: LexicalSAE, data: TextSplit, validation: TextSplit | None = None, **settings: Any):  # type: ignore[no-untyped-def]
    def task(each: TextSplit) -> ClassificationTask:
        return ClassificationTask(each, model.tokenizer, model.max_length, model.labels)

    references = References(load_validation=lambda: task(validation) if validation else None)
    config = EvaluationConfig(batch_size=64, measures=["bias"], **settings)
    return evaluate(model, task(data), config, share=0.1, references=references)


def test_it_measures_what_the_model_says(model: LexicalSAE) -> None:
    data = split(600)
    found = measured(model, data)[Bias]
    odds = np.array([one.logits["hateful"] - one.logits["normal"] for one in model.explain(data.texts)])
    positive, inside = np.array(data.labels) == 1, np.array(["film" in each for each in data.extra["groups"]])
    assert found.threshold_from == "given" and found.positive == ["hateful"] and found.source == "column groups"
    assert found.fixed.fpr.overall.mean == pytest.approx((odds[~positive] > 0).mean())
    rate = found.fixed.fpr.groups["film"]
    assert rate is not None and rate.rate.mean == pytest.approx((odds[~positive & inside] > 0).mean())
    assert found.groups["film"].negatives == (~positive & inside).sum()
    assert found.matched.fpr.overall.mean == pytest.approx(0.1, abs=0.01)


def test_the_threshold_is_of_the_validation_texts(model: LexicalSAE) -> None:
    found = measured(model, split(200), split(200, seed=1))[Bias]
    assert found.threshold_from == "validation" and found.fixed.threshold != 0.0


def test_labels_and_columns_can_be_named(model: LexicalSAE) -> None:
    data = split(200)
    data = replace(data, extra={"about": data.extra["groups"]})
    found = measured(model, data, bias_groups=["about"], bias_positive=["normal"], bias_matched_fpr=0.3)[Bias]
    assert found.positive == ["normal"] and found.matched_fpr == 0.3 and set(found.groups) == {"film", "actor", "plot"}


def test_groups_by_terms(model: LexicalSAE, tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("pictures: film, movie\nactor\n", encoding="utf-8")
    data = split(300)
    found = measured(model, data, bias_terms=str(tmp_path / "terms.txt"))[Bias]
    texts = [text for text in data.texts if {"film", "movie"} & set(text.split())]
    assert found.groups["pictures"].texts == len(texts) and found.source == "terms in the texts"
    assert load_terms("identity") is IDENTITY_TERMS and all(IDENTITY_TERMS.values())


@pytest.mark.parametrize(
    ("changed", "settings", "said"),
    [
        ({"extra": {}}, {}, "The data has no columns of groups"),
        ({}, {"bias_groups": ["group"]}, "no column 'group' of groups"),
        ({"labels": [0] * 40}, {}, "All 40 test texts are negative, but bias needs texts of both labels"),
        ({}, {"bias_positive": ["hatful"]}, "names 'hatful', which is none of the labels .* Did you mean 'hateful'"),
        ({}, {"bias_positive": ["hateful", "normal"]}, "names all of the labels"),
        ({}, {"bias_terms": "no/such/file"}, "There is no file no/such/file of terms"),
    ],
)
def test_what_cannot_be_measured(model: LexicalSAE, changed: dict[str, Any], settings: Any, said: str) -> None:
    with pytest.raises(LexicalSAEError, match=said) as raised:
        measured(model, replace(split(40), **changed), **settings)
    assert "\n" not in str(raised.value)


def test_terms_that_are_no_text(model: LexicalSAE, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# none\n")
    (tmp_path / "bytes.txt").write_bytes(b"a: \xff\xfe")
    for name, said in (("empty.txt", "has no terms"), ("bytes.txt", "not written in UTF-8")):
        with pytest.raises(DataError, match=said):
            load_terms(str(tmp_path / name))


def test_labels_whose_names_say_nothing_must_be_named(tmp_path: Path) -> None:
    plain = build_model(tmp_path)
    plain.labels = ["one", "two"]
    with pytest.raises(
        ConfigError, match=r"does not follow from their names; name them with evaluation\.bias_positive"
    ):
        measured(plain, split(40))


def test_it_is_taken_on_request_alone_and_of_classifiers() -> None:
    assert Bias not in chosen_measures(EvaluationConfig(), "classification")
    with pytest.raises(ConfigError, match="for classification"):
        chosen_measures(EvaluationConfig(measures=["bias"]), "tagging")


def test_every_key_is_written_and_every_table_has_rows(model: LexicalSAE) -> None:
    results = measured(model, split(600)).to_json()
    for figure in FIGURES:
        value = figure.read(results)
        assert value is not None and figure.form.bounds[0] <= value <= figure.form.bounds[1], figure.key
    assert "by chance below" in FIGURES[0].beside(results)  # type: ignore[misc]
    for pattern in (*(key.key for key in Bias.keys), *(table.fields for table in TABLES)):
        for key in expanded(pattern):
            parent, _, last = key.rpartition(".")
            assert at(results, key) or any(last in below for below in at(results, parent)), key
    rates, areas = (table.read(results) for table in TABLES)
    assert rates is not None and areas is not None
    assert rates.rows[0][0].text == "all texts" and len(rates.rows) == 4 == len(areas.rows)
    assert all(len(row) == len(rates.columns) for row in rates.rows) and set(rates.brief) <= set(rates.columns)
    assert "Groups by column groups" in rates.note


def test_too_few_and_none_are_said_in_words(model: LexicalSAE) -> None:
    data = split(200)
    rows = [row for row, label in enumerate(data.labels) if label == 1][:5]
    about: list[object] = [["few"] if row in rows else [] for row in range(200)]
    results = measured(model, replace(data, extra={"groups": about}))
    grid = TABLES[0].read(results.to_json())
    assert grid is not None
    assert grid.rows[1][-1].text.startswith("false positives undefined: no negatives; false negatives underpowered: 5")
    assert results.findings == [
        "1 of 1 groups have fewer than 50 negative texts, too few to tell whether they are wrongly called positive "
        "more often."
    ]


def _rates(p: float) -> ErrorRates:
    gap = Estimate(0.08, 0.05, 0.11)
    own = GroupRate(Estimate(0.18, 0.15, 0.21), gap, 0.03, p)
    small = GroupRate(Estimate(0.2, 0.0, 0.5), Estimate(0.1, -0.1, 0.4), 0.3, 0.4)
    largest = LargestGap("small", Estimate(0.1, -0.1, 0.4), Null(0.06, 0.12, 0.3))
    return ErrorRates(Estimate(0.1, 0.09, 0.11), {"a": own, "small": small, "none": None}, largest)


def test_a_gap_beyond_chance_is_said() -> None:
    """Also where a small group's gap is larger, and by chance."""
    assert bias_findings(_rates(0.001), "fpr", 2, "overall") == [
        "Negatives about 'a' have more false positives than chance explains: 18.0 % against 10.0 % overall, 8.0 points "
        "more than all of them (95 %: 5.0 to 11.0; p = 0.001 over 2 groups); where groups make no difference, the "
        "largest gap of 2 groups stays below 12.0 points in 95 % of the cases."
    ]
    assert bias_findings(_rates(0.2), "fpr", 2, "overall") == [
        "No group's false positives are above those of all of them beyond chance: the largest gap, of 'small', is 10.0 "
        "points; where groups make no difference, the largest gap of 2 groups stays below 12.0 points in 95 % of the "
        "cases."
    ]
    assert bias_findings(replace(_rates(0.1), largest=None), "fpr", 9, "overall") == []


def test_a_run_measures_it_and_a_saved_model_too(toy_run: ToyRun, tmp_path: Path) -> None:
    """With groups in the test file, and validation texts of the training."""
    for seed, part in enumerate(("train", "validation", "test")):
        data = split(160, seed)
        rows = zip(data.texts, data.labels, data.extra["groups"], strict=True)
        lines = [json.dumps({"text": text, "label": label, "groups": about}) + "\n" for text, label, about in rows]
        (tmp_path / f"{part}.jsonl").write_text("".join(lines))
    settings = {f"data__{part}_file": tmp_path / f"{part}.jsonl" for part in ("train", "validation", "test")}
    config = toy_run.config(
        tmp_path / "run", **settings, evaluation__measures=["bias", "class_scores"], evaluation__bias_positive=["1"]
    )
    results = run_experiment(config)
    assert results["bias"]["threshold_from"] == "validation" and results["bias"]["groups"]["film"]["texts"] > 0
    assert load_config(tmp_path / "run" / "config.yaml").evaluation.bias_positive == ["1"]  # type: ignore[attr-defined]
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Bias against groups" in report and "Errors by group" in report
    again = evaluate_saved(tmp_path / "run" / "model", console=Console(quiet=True))
    assert again["bias"] == results["bias"]


def test_the_result_is_remembered_as_it_is(model: LexicalSAE) -> None:
    from pydantic import TypeAdapter

    found, adapter = measured(model, split(200))[Bias], TypeAdapter(ModelBias)
    assert adapter.validate_python(adapter.dump_python(found, mode="json")) == found
