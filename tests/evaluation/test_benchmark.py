"""Explainers compared in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade import Benchmark
from splade.config.schema import EvaluationConfig
from splade.errors import ConfigError, DataError, ModelError
from splade.evaluation.comparison import OF_MODELS
from splade.evaluation.figure import find
from splade.evaluation.run import evaluate
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
    assert found.names == text.split() and found.columns == list(OF_MODELS) and not found.notes
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
    with pytest.raises(ModelError, match="no label 'clas 1'; its labels are: class 0, class 1"):
        bench.explain("a good film", target="clas 1")
    with pytest.raises(ModelError, match="target is 1, but the name of a label was expected"):
        bench.explain("a good film", target=1)  # type: ignore[arg-type]


def test_the_title_of_a_narrow_table_is_one_line(model: LexicalSAE) -> None:
    found = Benchmark(model, explainers=["dla"]).explain("a good film")
    assert repr(found).splitlines()[0] == found.title
    assert repr(found).splitlines()[1].split() == ["word", "dla"]


def test_it_says_what_it_is(model: LexicalSAE, folder: Path) -> None:
    shown = repr(Benchmark(model, dense=build_dense(folder), explainers=["dla", "lime"], seed=3, lime_samples=70))
    for part in ("LexicalSAE and DenseClassifier", "class 0, class 1", "dla, lime", "seed=3", "lime_samples=70"):
        assert part in shown


def test_a_text_is_explained_on_both_models(model: LexicalSAE, folder: Path) -> None:
    found = Benchmark(model, dense=build_dense(folder), explainers=["dla", "occlusion"]).explain("a good film")
    assert found.columns == ["dla", "occlusion", "dense.occlusion"]
    assert found["occlusion"] != found["dense.occlusion"] and ", dense " in found.title


def test_the_dense_baseline_may_be_given_by_its_folder(model: LexicalSAE, folder: Path, tmp_path: Path) -> None:
    dense = build_dense(folder)
    dense.save_pretrained(tmp_path / "dense")
    found = [Benchmark(model, dense=each, explainers=["gradient"]) for each in (dense, tmp_path / "dense")]
    first, second = (each.explain("a good film")["dense.gradient"] for each in found)
    assert first == pytest.approx(second)
    with pytest.raises(ModelError, match="A model was expected, but 3 was given; give the dense baseline, or its fold"):
        Benchmark(model, dense=3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"labels are .*; give the baseline of the same data"):
        Benchmark(model, dense=build_dense(folder, classes=3))


def test_texts_are_compared_on_both_models(model: LexicalSAE, folder: Path) -> None:
    bench = Benchmark(model, dense=build_dense(folder), explainers=SOME, steps=5)
    with pytest.raises(DataError, match="Nothing was evaluated yet"):
        bench.table()
    found = bench.evaluate([*toy_reviews(6)[0], ""], stability_texts=2)
    assert found is bench.table() and found.title.startswith("6 texts")
    assert found.notes == ["Left out, since they have no word: 1 of 7 texts."]
    assert found.names == [*SOME, *(f"dense.{name}" for name in SOME[1:])]
    assert found["passes"][0] == 1.0 and found["sum_error.median"][-1] is None
    assert "agreement.mean" not in found.columns
    shown = repr(found)
    assert "DLA (ours)" in shown and "GradientSHAP, dense" in shown and found.notes[0] in shown
    assert found.to_dataframe().shape == (7, len(found.columns))
    with pytest.raises(DataError, match=r"no column 'compr'; its columns are: texts, comprehensiveness.mean, "):
        found["compr"]


def test_columns_and_intervals_are_those_of_the_results(model: LexicalSAE) -> None:
    found = Benchmark(model, explainers=["dla"]).evaluate(toy_reviews(6)[0])
    task = ClassificationTask(reviews(6), model.tokenizer, model.max_length, model.labels)
    config = EvaluationConfig(measures=["explainers"], explainers=["dla"])
    results = evaluate(model, task, config, share=0.1).to_json()["explainers"]["dla"]
    assert not [column for column in found.columns if find(results, column) is None]
    for figure in ("comprehensiveness.{}", "deletion.intervals.tau.{}"):
        low, high = (found[figure.format(end)][0] for end in ("low", "high"))
        assert low is not None and high is not None and low <= high
        assert f"{low:.3f} to {high:.3f}" in repr(found).splitlines()[-1]
    assert repr(found).splitlines()[-2].startswith("DLA (ours)      6 ")  # all numbers stand on the first of two lines


def test_texts_longer_than_the_model_reads_are_said(model: LexicalSAE) -> None:
    long, bench = "good film " * model.max_length, Benchmark(model, explainers=["dla"])
    [note] = bench.explain(long).notes
    assert note.startswith(f"The text is longer than the {model.max_length} tokens that the model reads: its first ")
    assert f"of {2 * model.max_length:,} words are explained" in note
    [note] = bench.evaluate([long, "a good film"]).notes
    assert note.startswith(f"1 of 2 texts are longer than the {model.max_length} tokens")


def test_marked_words_of_a_task_are_looked_at(model: LexicalSAE) -> None:
    task = ClassificationTask(reviews(6), model.tokenizer, model.max_length, model.labels)
    found = Benchmark(model, explainers=["dla", "empty"]).evaluate(task)
    assert "agreement.mean" in found.columns


def test_the_dense_baseline_is_explained_by_those_that_can(folder: Path) -> None:
    found = Benchmark(build_dense(folder), explainers=["dla", "gradient"]).explain("a good film")
    assert found.columns == ["gradient"]
    with pytest.raises(ConfigError, match="Only models that decide by words are explained by dla"):
        Benchmark(build_dense(folder), explainers=["dla"])


def test_what_cannot_be_compared_is_said(model: LexicalSAE, folder: Path) -> None:
    with pytest.raises(ModelError, match="A model was expected"):
        Benchmark("folder")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="tag"):
        Benchmark(build_model(folder, task="tagging"))
    with pytest.raises(DataError, match="No text with a word"):
        Benchmark(model).evaluate([""])
    with pytest.raises(DataError, match="has no word"):
        Benchmark(model).explain(" ")
    with pytest.raises(DataError):
        Benchmark(model).evaluate("a good film")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seed": -1}, "seed is -1, but a whole number from 0 on was expected; give one"),
        ({"seed": 2**32}, "seed is 4294967296, but LIME draws by seeds to .*; give a smaller one"),
        ({"lime_samples": 0}, "lime_samples is 0, but a whole number from 2 on was expected"),
        ({"steps": 0}, "steps is 0, but a whole number from 1 on was expected"),
        ({"batch_size": "all"}, "batch_size is 'all', but a whole number from 1 on was expected"),
        ({"explainers": "lime"}, r"explainers is 'lime', but a list of names was expected; give one, such as \['dla'"),
        ({"explainers": []}, "explainers is empty, but at least one name was expected"),
        ({"explainers": [1]}, "explainers has 1, but names were expected"),
        ({"explainers": ["limes"]}, "Unknown explainer 'limes'"),
    ],
)
def test_wrong_settings_are_said_in_a_sentence(model: LexicalSAE, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Benchmark(model, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="lime_texts is 0, but a whole number from 1 on was expected"):
        Benchmark(model).evaluate(["a good film"], lime_texts=0)
