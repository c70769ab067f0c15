"""The comparison of explainers, on a tiny model and a tiny dense baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import EvaluationConfig
from splade.evaluation import comparison
from splade.evaluation.compare_explainers import CompareExplainers, ExplainersResult
from splade.evaluation.comparison import OF_MODELS
from splade.evaluation.estimate import Estimate
from splade.evaluation.explainers_table import TABLES, explainer_findings
from splade.evaluation.measure import References
from splade.evaluation.memory import Memory
from splade.evaluation.run import Evaluation, evaluate
from splade.explainers import EXPLAINERS
from splade.models.dense import DenseClassifier
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_dense, build_model
from tests.evaluation.test_agreement import reviews

SOME = ["dla", "gradient_x_input", "gradient_shap", "random"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explainers")


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return build_model(folder)


@pytest.fixture(scope="module")
def dense(folder: Path) -> DenseClassifier:
    return build_dense(folder)


def measured(
    model: LexicalSAE, dense: DenseClassifier | None = None, memory: Memory | None = None, **own: Any
) -> Evaluation:
    settings = {"explainers": SOME, "explainers_texts": 8, "explainers_stability_texts": 2} | own
    config = EvaluationConfig(measures=["explainers"], **settings)
    task = ClassificationTask(reviews(12), model.tokenizer, model.max_length, model.labels)
    references = References(load_dense=lambda: dense)
    return evaluate(model, task, config, share=0.1, references=references, memory=memory)


@pytest.fixture(scope="module")
def found(model: LexicalSAE, dense: DenseClassifier) -> Evaluation:
    return measured(model, dense)


def test_every_explainer_has_a_row_on_both_models(found: Evaluation) -> None:
    result = found[CompareExplainers]
    assert list(result.own) == SOME and list(result.dense) == SOME[1:]  # ours explains models that decide by words
    assert result.of.texts == 8 and result.of.marked == 8
    json = found.to_json()["explainers"]
    assert list(json) == [*SOME, "dense", "of"] and json["dla"]["passes"] == 1.0
    assert json["gradient_x_input"]["passes"] == 2.0 and json["gradient_shap"]["passes"] == 101.0
    assert json["dla"]["sum_error"]["max"] < 1e-4 and json["random"]["sum_error"] is None
    assert json["dla"]["stability"] == 1.0 and json["gradient_shap"]["stability_texts"] == 2
    assert json["dla"]["against_ours"] == {} and "tau" in json["random"]["against_ours"]
    assert (
        json["dla"]["tokens"]["naopc_comprehensiveness"]["mean"]
        > json["random"]["tokens"]["naopc_comprehensiveness"]["mean"]
    )
    assert json["gradient_shap"]["tokens"] is None and json["dense"]["random"]["tokens"] is None
    assert json["dla"]["agreement"] is not None


def test_gradient_times_input_is_ours_at_the_tokens(found: Evaluation) -> None:
    own = found[CompareExplainers].own
    assert own["dla"].tokens == own["gradient_x_input"].tokens


def test_the_tables_say_it_all(found: Evaluation) -> None:
    words, tokens = (table.read(found.to_json()) for table in TABLES)
    assert words is not None and tokens is not None
    assert [row[0].text for row in words.rows][:2] == ["DLA (ours)", "gradient × input"]
    assert words.rows[-1][0].text == "random, dense" and "seconds" in words.columns
    assert words.rows[0][2].title.startswith("95 %: ")
    assert [row[0].text for row in tokens.rows] == ["DLA (ours)", "gradient × input", "random"]
    assert "8 texts" in words.note and "people marked words in 8" in words.note


def test_the_same_seed_gives_the_same_figures(found: Evaluation, model: LexicalSAE, dense: DenseClassifier) -> None:
    def without_time(result: ExplainersResult) -> dict[str, Any]:
        rows = CompareExplainers.to_json(result)
        for row in (*(rows[name] for name in SOME), *rows["dense"].values()):
            del row["seconds"]
        return rows

    assert without_time(found[CompareExplainers]) == without_time(measured(model, dense)[CompareExplainers])


def test_all_that_are_compared_are_there() -> None:
    assert set(OF_MODELS) <= set(EXPLAINERS.names())


def test_an_interrupted_comparison_goes_on(
    model: LexicalSAE, dense: DenseClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, explain, asked = Memory(tmp_path, "model", "data"), comparison.explained, []

    def some(explainer, *arguments):  # type: ignore[no-untyped-def]
        asked.append(explainer.name)
        if asked == ["dla", "gradient_x_input", "random"]:
            raise KeyboardInterrupt
        return explain(explainer, *arguments)

    monkeypatch.setattr(comparison, "explained", some)
    names = ["dla", "gradient_x_input", "random"]
    with pytest.raises(KeyboardInterrupt):
        measured(model, dense, memory, explainers=names)
    kept = sorted(file.stem for file in tmp_path.iterdir())
    assert kept == [f"explainers.part-own-{name}" for name in ("decisions", "dla", "gradient_x_input")]
    again = measured(model, dense, memory, explainers=names)[CompareExplainers]
    assert asked == [
        *names,
        "random",
        "gradient_x_input",
        "random",
    ]  # of our model the one that is left, then the dense
    assert [file.name for file in tmp_path.iterdir()] == ["explainers.json"]
    assert measured(model, dense, memory, explainers=names)[CompareExplainers] == again and len(asked) == 6
    measured(model, None, memory, explainers=names)  # another comparison: the dense baseline is gone
    assert len(asked) == 9


def test_a_rival_that_is_ahead_is_named(found: Evaluation) -> None:
    own = dict(found[CompareExplainers].own)
    level = {"tau": Estimate(0.1, -0.1, 0.3), "sufficiency": Estimate(0.1, 0.05, 0.2)}
    assert explainer_findings({"dla": own["dla"], "random": replace(own["random"], against_ours=level)}) == []
    ahead = replace(own["random"], texts=8, against_ours={"tau": Estimate(0.2, 0.1, 0.3)})
    ahead = replace(ahead, deletion=replace(ahead.deletion, tau=0.61))
    assert explainer_findings({"dla": own["dla"], "lime": replace(ahead, texts=5)}) == []  # too few to say
    assert explainer_findings({"dla": own["dla"], "lime": ahead}) == [
        "By deletion, LIME ranks words better than our sum does (Kendall's τ with deleting single words): LIME 0.610 "
        "against 0.410 on 8 texts."
    ]
