"""The comparison of explainers, on a tiny model and a tiny dense baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import EvaluationConfig
from splade.evaluation import comparison
from splade.evaluation.binomial import Interval
from splade.evaluation.compare_explainers import CompareExplainers, ExplainersResult
from splade.evaluation.comparison import OF_MODELS
from splade.evaluation.explained_tokens import Bottleneck
from splade.evaluation.explainer_findings import explainer_findings
from splade.evaluation.explainers_table import TABLES
from splade.evaluation.measure import References
from splade.evaluation.memory import Memory
from splade.evaluation.paired import Difference
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
    assert json["dla"]["stability"] == pytest.approx(1.0) and json["gradient_shap"]["stability_texts"] == 2
    assert json["dla"]["against_ours"] == {} and "tau" in json["random"]["against_ours"]
    assert (
        json["dla"]["tokens"]["naopc_comprehensiveness"]["mean"]
        > json["random"]["tokens"]["naopc_comprehensiveness"]["mean"]
    )
    assert json["gradient_shap"]["tokens"] is None and json["dense"]["random"]["tokens"] is None
    assert json["dla"]["agreement"] is not None
    assert json["dla"]["deletion"]["r2"] is not None and json["random"]["deletion"]["r2"] is None
    assert {row["timed_texts"] for name, row in json.items() if name in SOME} == {8}


def test_gradient_times_input_is_ours_at_the_tokens(found: Evaluation) -> None:
    own = found[CompareExplainers].own
    assert own["dla"].tokens == own["gradient_x_input"].tokens
    difference = own["gradient_x_input"].against_ours["tokens.naopc_comprehensiveness"]
    assert difference == Difference(0.0, 0.0, 0.0, 8)
    assert own["random"].against_ours["tokens.naopc_comprehensiveness"].high < 0


def test_what_was_found_at_the_tokens_is_kept_too(
    model: LexicalSAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, values, asked = Memory(tmp_path, "model", "data"), Bottleneck.values, []

    def some(self, explainer, *arguments):  # type: ignore[no-untyped-def]
        asked.append(explainer.name)
        if asked == ["dla", "gradient_x_input"]:
            raise KeyboardInterrupt
        return values(self, explainer, *arguments)

    monkeypatch.setattr(Bottleneck, "values", some)
    names = ["dla", "gradient_x_input"]
    with pytest.raises(KeyboardInterrupt):
        measured(model, memory=memory, explainers=names)
    kept = {file.stem.partition(".part-")[2] for file in tmp_path.glob("explainers-*")}
    assert {"own-token-bounds", "own-dla-tokens"} <= kept
    again = measured(model, memory=memory, explainers=names)[CompareExplainers].own
    assert asked == [*names, "gradient_x_input"] and again["dla"].tokens == again["gradient_x_input"].tokens


def test_bounds_are_looked_for_in_as_many_texts_as_time_allows(
    model: LexicalSAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("splade.evaluation.naopc.MOST_ENTRIES", 1)
    found = measured(model, explainers=["dla", "random"])[CompareExplainers].own["dla"].tokens
    assert found is not None and found.texts == 8 and found.naopc_texts == 1
    assert found.comprehensiveness is not None and found.naopc_comprehensiveness is not None


def test_the_tables_say_it_all(found: Evaluation) -> None:
    grids = {table.key: table.read(found.to_json()) for table in TABLES}
    words, cost, tokens = grids["explainers"], grids["explainers.cost"], grids["explainers.tokens"]
    assert words is not None and cost is not None and tokens is not None
    titles = ["DLA (ours)", "gradient × input", "GradientSHAP", "random"]
    assert [row[0].text for row in words.rows] == [row[0].text for row in cost.rows] == titles
    assert words.rows[0][2].title.startswith("95 %: ")
    assert [row[0].text for row in tokens.rows] == ["DLA (ours)", "gradient × input", "random"]
    assert "8 texts" in words.note and "people marked words in 8" in words.note
    assert "seconds" in cost.columns and "seconds" not in words.columns
    dense = grids["explainers.dense"]
    assert dense is not None and [row[0].text for row in dense.rows] == titles[1:]


def test_what_each_has_less_ours_stands_with_its_interval(found: Evaluation) -> None:
    [table] = [table for table in TABLES if table.key == "explainers.against_ours"]
    grid, difference = table.read(found.to_json()), found[CompareExplainers].own["random"].against_ours["tau"]
    assert grid is not None and [row[0].text for row in grid.rows] == ["gradient × input", "GradientSHAP", "random"]
    cell = grid.rows[-1][list(grid.columns).index("τ")]
    assert cell.text == f"{difference.mean:+.3f} [{difference.low:.3f}, {difference.high:.3f}]"
    assert cell.title == "on 8 texts"


def test_rows_of_fewer_texts_are_named_and_compared_on_these(model: LexicalSAE) -> None:
    evaluation = measured(model, explainers=["dla", "lime"], explainers_lime_texts=3)
    lime, ours = (evaluation[CompareExplainers].own[name] for name in ("lime", "dla"))
    assert (lime.texts, ours.texts, lime.against_ours["tau"].texts) == (3, 8, 3)
    grid = TABLES[0].read(evaluation.to_json())
    assert grid is not None and "LIME stands on fewer texts" in grid.note
    alone = measured(model, explainers=["dla"], explainers_texts=3)[CompareExplainers].own["dla"]
    assert lime.deletion.tau is not None and alone.deletion.tau is not None
    assert lime.against_ours["tau"].mean == pytest.approx(lime.deletion.tau - alone.deletion.tau)


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
    # of the tokens nothing yet: they come last
    kept = sorted(file.stem.partition(".part-")[2] for file in tmp_path.glob("explainers-*"))
    assert kept == [f"own-{name}" for name in ("decisions", "dla", "gradient_x_input")]
    again = measured(model, dense, memory, explainers=names)[CompareExplainers]
    assert asked == [
        *names,
        "random",
        "gradient_x_input",
        "random",
    ]  # of our model the one that is left, then the dense
    assert [file.name.count(".part-") for file in tmp_path.iterdir()] == [0]  # the whole, and no part any more
    assert measured(model, dense, memory, explainers=names)[CompareExplainers] == again and len(asked) == 6
    measured(model, None, memory, explainers=names)  # another comparison: the dense baseline is gone
    assert len(asked) == 9


def test_a_rival_that_is_ahead_is_named(found: Evaluation) -> None:
    own = {name: replace(row, texts=40, against_ours={}) for name, row in found[CompareExplainers].own.items()}
    level = {"tau": Difference(0.1, -0.1, 0.3, 40), "sufficiency": Difference(0.1, 0.05, 0.2, 40)}
    assert explainer_findings({"dla": own["dla"], "lime": replace(own["random"], against_ours=level)}) == []
    row = replace(own["random"], deletion=replace(own["random"].deletion, tau=0.61))
    ahead = replace(row, against_ours={"tau": Difference(0.2, 0.1, 0.3, 24)})
    assert explainer_findings({"dla": own["dla"], "lime": ahead}) == [
        "By deletion (Kendall's τ with deleting single words), LIME ranks words better than our sum does: LIME 0.610 "
        "against 0.410 on 24 texts, difference 0.200 (95 %: 0.100 to 0.300)."
    ]


def test_of_few_texts_nothing_is_told(found: Evaluation) -> None:
    own = found[CompareExplainers].own
    assert explainer_findings(own) == [
        "Explainers were compared on 8 texts, fewer than 20: which of them is ahead of our sum, or behind it, cannot "
        "be told. Give more (evaluation.explainers_texts)."
    ]
    few = replace(own["random"], texts=12, against_ours={"tau": Difference(0.2, 0.1, 0.3, 12)})
    [sentence] = explainer_findings({"dla": replace(own["dla"], texts=40), "lime": few})
    assert sentence.startswith("On fewer than 20 texts it cannot be told") and sentence.endswith(": LIME on 12.")


def test_a_control_within_our_interval_is_named(found: Evaluation) -> None:
    own = {name: replace(row, texts=40, against_ours={}) for name, row in found[CompareExplainers].own.items()}
    deletion = replace(own["dla"].deletion, tau=0.4, intervals={"tau": Interval(0.35, 0.45)})
    ours = replace(own["dla"], deletion=deletion)

    def said(tau: float, difference: Difference) -> list[str]:
        row = replace(own["random"], deletion=replace(deletion, tau=tau), against_ours={"tau": difference})
        return explainer_findings({"dla": ours, "activations": row})

    by = "By deletion (Kendall's τ with deleting single words), the control activations"
    assert said(0.38, Difference(-0.02, -0.06, 0.01, 40)) == [
        f"{by} lies within our interval (0.350 to 0.450): 0.380 against 0.400 on 40 texts, difference -0.020 (95 %: "
        "-0.060 to 0.010)."
    ]
    assert said(0.38, Difference(-0.02, -0.03, -0.01, 40))[0].startswith(
        f"{by} lies within our interval (0.350 to 0.450), although text by text ours is ahead: "
    )
    assert said(0.34, Difference(-0.06, -0.13, 0.01, 40))[0].startswith(f"{by} is not told apart from ours: ")
    assert said(0.1, Difference(-0.3, -0.4, -0.2, 40)) == []  # as it should be
    assert said(0.38, Difference(-0.02, -0.06, 0.01, 19)) == []  # too few to tell


def test_controls_are_compared_without_being_asked_for() -> None:
    assert {"activations", "content_words", "random", "empty"} <= set(OF_MODELS)
