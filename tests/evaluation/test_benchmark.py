"""Explainers compared in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade import Benchmark
from splade.errors import ConfigError, DataError, ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_dense, build_model, toy_reviews
from tests.evaluation.test_agreement import reviews

SOME = ["dla", "occlusion", "gradient_shap", "random"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmark")


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return build_model(folder)


def test_a_text_is_explained_by_all(model: LexicalSAE) -> None:
    text, found = "a good film", Benchmark(model, lime_samples=50, steps=5).explain("a good film")
    assert [word for word, _ in found.rows] == text.split() and len(found.columns) == 11
    [explanation] = model.explain([text])
    assert found["dla"] == pytest.approx([word.score for word in explanation.words[:3]], abs=1e-5)
    assert found.title.startswith(f"{explanation.label}: logit ")
    frame = found.to_dataframe()
    assert list(frame.index) == text.split() and list(frame["dla"]) == found["dla"]
    shown = repr(found)
    assert "good" in shown and "lime" in shown and "\x1b" not in shown


def test_another_label_and_a_wrong_one(model: LexicalSAE) -> None:
    bench = Benchmark(model, explainers=["dla"])
    first, second = (bench.explain("a good film", target=label)["dla"] for label in model.labels)
    assert first == pytest.approx([-score for score in second if score is not None], abs=1e-5)
    with pytest.raises(DataError, match="There is no label 'clas 1'; the labels are: class 0, class 1"):
        bench.explain("a good film", target="clas 1")


def test_texts_are_compared_on_both_models(model: LexicalSAE, folder: Path) -> None:
    bench = Benchmark(model, dense=build_dense(folder), explainers=SOME, steps=5)
    with pytest.raises(DataError, match="Nothing was evaluated yet"):
        bench.table()
    found = bench.evaluate([*toy_reviews(6)[0], ""], stability_texts=2)
    assert found is bench.table() and found.title == "6 texts"
    titles = ["DLA (ours)", "occlusion", "GradientSHAP", "random"]
    assert [name for name, _ in found.rows] == [*titles, *(f"{title}, dense" for title in titles[1:])]
    assert found["passes"][0] == 1.0 and found["sum error"][-1] is None
    assert "AP" not in found.columns and "DLA (ours)" in repr(found)
    assert found.to_dataframe().shape == (7, len(found.columns))


def test_marked_words_of_a_task_are_looked_at(model: LexicalSAE) -> None:
    task = ClassificationTask(reviews(6), model.tokenizer, model.max_length, model.labels)
    found = Benchmark(model, explainers=["dla", "empty"]).evaluate(task)
    assert "AP" in found.columns


def test_the_dense_baseline_is_explained_by_those_that_can(folder: Path) -> None:
    found = Benchmark(build_dense(folder), explainers=["dla", "gradient"]).explain("a good film")
    assert list(found.columns) == ["gradient"]


def test_what_cannot_be_compared_is_said(model: LexicalSAE, folder: Path) -> None:
    with pytest.raises(ModelError, match="A model was expected"):
        Benchmark("folder")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="tag"):
        Benchmark(build_model(folder, task="tagging"))
    with pytest.raises(ConfigError, match="Unknown explainer 'limes'"):
        Benchmark(model, explainers=["limes"])
    with pytest.raises(DataError, match="No text with a word"):
        Benchmark(model).evaluate([""])
    with pytest.raises(DataError):
        Benchmark(model).evaluate("a good film")
