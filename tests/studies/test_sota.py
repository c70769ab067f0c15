from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result

from splade.config.schema import Config, ModelConfig
from splade.data.loader import load_dataset
from splade.data.types import TextSplit
from splade.models.backbone import Backbone
from splade.models.dense import DenseClassifier, DenseState
from splade.studies import sota
from splade.studies.linear import VECTORIZERS, fit_linear
from splade.studies.sota import leave_one_out
from tests.runs import read_json


@pytest.mark.parametrize("name", VECTORIZERS)
def test_a_linear_explanation_is_the_logit(name: str, quick: Callable[..., Config]) -> None:
    dataset = load_dataset(quick().data, 0)
    model = fit_linear(VECTORIZERS[name], dataset, 0)
    assert (model.predict(dataset.test.texts) == np.asarray(dataset.test.labels)).mean() > 0.9
    for text in dataset.test.texts[:6]:
        logit = float(model.classifier.decision_function(model.vectorizer.transform([text]))[0])
        total = sum(score for _, score in model.explain(text))
        sign = 1 if logit > 0 else -1
        assert total + sign * float(model.classifier.intercept_[0]) == pytest.approx(sign * logit, abs=1e-9)


def test_nothing_fitted_sees_the_test_texts(quick: Callable[..., Config]) -> None:
    dataset = load_dataset(quick().data, 0)
    other = dataclasses.replace(dataset, test=TextSplit(["unheard zebras"], [0]))
    for make in VECTORIZERS.values():
        first, second = fit_linear(make, dataset, 0), fit_linear(make, other, 0)
        assert np.array_equal(first.classifier.coef_, second.classifier.coef_)
        assert first.vectorizer.vocabulary_ == second.vectorizer.vocabulary_
        assert "zebras" not in second.vectorizer.vocabulary_


def test_leaving_out_a_word_is_what_it_says(tiny_backbone_path: Path) -> None:
    backbone, tokenizer = Backbone.from_name(str(tiny_backbone_path))
    torch.manual_seed(0)
    config = ModelConfig(hidden_size=8, dtype="float32")
    model = DenseClassifier(backbone, tokenizer, ["bad", "good"], config, max_length=24).eval()

    def logits(text: str) -> torch.Tensor:
        batch = tokenizer([text], return_tensors="pt")
        return model.classify(model(batch["input_ids"], batch["attention_mask"]), batch["attention_mask"]).logits[0]

    scores = leave_one_out(model, tokenizer, "a good film", 24)
    with torch.no_grad():
        whole, without = logits("a good film"), logits("a  film")
    target = int(whole.argmax())
    assert len(scores) == 3 and scores[1] == pytest.approx(float(whole[target] - without[target]), abs=1e-5)


def test_the_dense_head_is_timed_where_our_model_is(
    quick: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device that holds no numbers: the weights are there, and so is every batch."""
    seen: list[str] = []

    def classify(model: DenseClassifier, hidden: torch.Tensor, mask: torch.Tensor) -> DenseState:
        seen.extend([hidden.device.type, mask.device.type])
        return DenseState(torch.zeros(len(mask), 2))

    monkeypatch.setattr(sota, "pick_device", lambda: torch.device("meta"))
    monkeypatch.setattr(DenseClassifier, "forward", lambda model, ids, mask: model.backbone.input_embeddings()(ids))
    monkeypatch.setattr(DenseClassifier, "classify", classify)
    results = {"dense": {"accuracy": 1.0, "macro_f1": 1.0, "seconds": 1.0}}
    sota._dense(quick(), results, ["bad", "good"], ["a good film"])
    assert seen and set(seen) == {"meta"}


def test_all_models_in_one_table(
    run_study_cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_study_cli("sota-comparison", study__explained=3)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "sota_comparison"
    results = read_json(folder / "results.json")
    rows = {row["name"]: {key: value["mean"] for key, value in row["figures"].items()} for row in results["variations"]}
    assert list(rows) == ["Lexical-SAE", "dense head", *VECTORIZERS]
    for figures in rows.values():
        assert figures.keys() == {figure.key for figure in sota.COLUMNS} and figures["parameters"] > 0
        assert figures["explain_ms"] > 0 and figures["train_seconds"] > 0
    assert rows["Lexical-SAE"]["explain_passes"] == 1 < rows["dense head"]["explain_passes"]
    run = read_json(folder / "Lexical-SAE" / "seed_42" / "results.json")
    assert (
        rows["Lexical-SAE"]["accuracy"] == run["accuracy"] and rows["dense head"]["accuracy"] == run["dense_accuracy"]
    )
    assert (folder / "sota_comparison.png").exists() and "leaving out one word" in done.stdout
    monkeypatch.setattr(sota, "measure_linear", None)  # nothing is measured a second time
    assert run_study_cli("sota-comparison", study__explained=3).stdout == done.stdout
