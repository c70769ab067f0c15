"""The sanity check: explanations change with the model, the model itself does not, and what stays would be found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.errors import BackboneError
from splade.evaluation import randomised, sanity
from splade.evaluation.estimate import Estimate
from splade.evaluation.memory import Memory
from splade.evaluation.randomised import randomise, randomised_models
from splade.evaluation.run import evaluate
from splade.evaluation.sanity import Sanity, rank_correlation
from splade.evaluation.sanity_result import SanityResult, Stage, what_stays
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from tests.builders import FAMILIES, TAGS, Wrapper, build_model, tagged_sentences, toy_reviews

CONFIG = EvaluationConfig(measures=["sanity"])


def reviews(model: LexicalSAE, n: int = 30) -> ClassificationTask:
    return ClassificationTask(TextSplit(*toy_reviews(n)), model.tokenizer, 64)


def measured(model: LexicalSAE, task: Task, **settings: Any) -> SanityResult:
    return evaluate(model, task, CONFIG, share=0.1, **settings)[Sanity]


def mean(of: Estimate | None) -> float:
    assert of is not None and of.low <= of.mean <= of.high
    return of.mean


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("sanity"), active=20)


class TestRankCorrelation:
    def test_by_hand(self) -> None:
        """Ranks 1, 2, 3, 4 against 1, 3, 2, 4: 1 − 6·(0 + 1 + 1 + 0)/(4·15) = 0.8."""
        assert rank_correlation(np.array([1.0, 5.0, 6.0, 90.0]), np.array([0.1, 0.3, 0.2, 0.4])) == pytest.approx(0.8)
        assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)

    def test_ties_share_their_rank(self) -> None:
        """Ranks 1, 2, 3 against 1.5, 1.5, 3: their deviations −1, 0, 1 and −0.5, −0.5, 1."""
        found = rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 7.0]))
        assert found == pytest.approx(1.5 / np.sqrt(2 * 1.5))

    def test_without_an_order(self) -> None:
        assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.zeros(3)) == 0.0
        assert rank_correlation(np.ones(3), np.array([1.0, 2.0, 3.0])) is None
        assert rank_correlation(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None


def test_weights_are_shuffled_among_themselves_and_follow_the_seed() -> None:
    modules = [torch.nn.Linear(5, 4) for _ in range(3)]
    before = [parameter.clone() for parameter in modules[0].parameters()]
    for module, seed in zip(modules, (1, 1, 2), strict=True):
        module.load_state_dict(dict(zip(("weight", "bias"), before, strict=True)))
        randomise(module, torch.Generator().manual_seed(seed))
    for old, new in zip(before, modules[0].parameters(), strict=True):
        assert torch.equal(old.flatten().sort().values, new.flatten().sort().values)
    assert not torch.equal(before[0], modules[0].weight)
    assert torch.equal(modules[0].weight, modules[1].weight) and not torch.equal(modules[0].weight, modules[2].weight)


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_of_every_family_are_randomised_one_after_the_other(tmp_path: Path, family: str) -> None:
    model = build_model(tmp_path, family=family)
    original = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    changed: list[set[str]] = []
    names = []
    for name, copy in randomised_models(model, seed=0):
        names.append(name)
        changed.append({key for key, tensor in copy.state_dict().items() if not torch.equal(tensor, original[key])})
    assert names == ["head", "layer 2", "layer 1"]
    assert changed[0] and all(key.startswith("head.") for key in changed[0])
    top, bottom = changed[1] - changed[0], changed[2] - changed[1]
    assert top and bottom and changed[0] < changed[1] < changed[2]
    assert all(".1." in key for key in top) and all(".0." in key for key in bottom)
    assert not any("embedding" in key.lower() for key in changed[2])
    assert all(torch.equal(tensor, original[key]) for key, tensor in model.state_dict().items())


def test_explanations_change_and_the_model_does_not(model: LexicalSAE) -> None:
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = measured(model, reviews(model))
    assert (found.texts, found.draws, list(found.stages)) == (30, sanity.DRAWS, ["head", "layer 2", "layer 1"])
    assert found.whole == found.stages["layer 1"]
    assert abs(mean(found.stages["head"].signed)) < 0.5 and abs(mean(found.whole.signed)) < 0.4
    assert mean(found.whole.size) < 0.6
    assert all(0 <= stage.same_class <= 1 and 0 <= stage.silent <= 1 for stage in found.stages.values())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert found == measured(model, reviews(model)) != measured(model, reviews(model), seed=1)


def test_explanations_that_stay_are_found(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the explanations did not look at the model."""
    monkeypatch.setattr(randomised, "randomise", lambda module, generator: None)
    for stage in measured(model, reviews(model, 12)).stages.values():
        assert mean(stage.size) == mean(stage.signed) == mean(stage.size_everywhere) == pytest.approx(1.0)
        assert (stage.same_class, stage.silent) == (1.0, 0.0)


def test_which_words_may_speak_is_not_learned(model: LexicalSAE) -> None:
    """Stop words are silent whatever the weights, so that sizes over all words stay more alike than those named."""
    found = measured(model, reviews(model)).whole
    assert mean(found.size_everywhere) > mean(found.size) + 0.1


def test_of_a_tagger_and_of_a_model_inside_another(tmp_path: Path) -> None:
    tagger = build_model(tmp_path, "neighbourhood+dictionary", task="tagging", active=25)
    task = TaggingTask(TaggedSplit(*tagged_sentences(16)), tagger.tokenizer, 64, TAGS)
    found = measured(tagger, task)
    assert found.texts == 16 and mean(found.stages["head"].signed) < 0.7
    wrapped: Any = Wrapper(tagger)
    assert measured(wrapped, task) == found


def test_texts_that_say_nothing_are_not_compared(model: LexicalSAE) -> None:
    task = ClassificationTask(TextSplit(["", "the of"], [0, 1]), model.tokenizer, 64)
    found = measured(model, task).whole
    assert found.size is found.signed is found.size_everywhere is None and found.silent == 1.0


def test_an_interrupted_check_goes_on(model: LexicalSAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, whole, draws = reviews(model, 8), measured(model, reviews(model, 8)), []
    one_draw = randomised_models

    def stopping(model: Any, seed: int) -> Any:
        draws.append(seed)
        if len(draws) == 2:
            raise KeyboardInterrupt
        return one_draw(model, seed)

    monkeypatch.setattr(sanity, "randomised_models", stopping)
    with pytest.raises(KeyboardInterrupt):
        measured(model, task, memory=Memory(tmp_path, "m", "d"))
    found = measured(model, task, memory=Memory(tmp_path, "m", "d"))
    assert draws == [0, 1, 1, 2] and found == whole


def test_a_backbone_without_separate_layers_is_refused(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splade.models.backbone.find_stack", lambda model, layers: None)
    with pytest.raises(BackboneError, match="leave the layer-wise analysis and the sanity check out"):
        measured(model, reviews(model, 2))


def test_table_and_drawing_show_every_stage(model: LexicalSAE) -> None:
    results = evaluate(model, reviews(model, 12), CONFIG, share=0.1).to_json()
    grid, curves = Sanity.tables[0].read(results), Sanity.drawings[0].read(results)
    assert grid is not None and [row[0].text for row in grid.rows] == ["head", "and layer 2", "and layer 1"]
    assert all(len(row) == len(grid.columns) for row in grid.rows)
    assert curves is not None and [len(line.points) for line in curves.lines] == [4, 4, 4]  # type: ignore[union-attr]
    assert all(figure.show(results) for figure in Sanity.figures)


def test_what_stays_is_said() -> None:
    stage = Stage(Estimate(0.1, -0.02, 0.2), Estimate(-0.01, -0.1, 0.1), Estimate(0.42, 0.4, 0.44), 0.5, 0.0)
    [sentence] = what_stays(SanityResult({"layer 1": stage}, stage, 100, 3))
    stays, goes = sentence.split(" So much is owed ")
    assert "over all positions of a text, silent ones too: 0.420 (95 %: 0.400 to 0.440)" in stays
    assert "0.100" not in stays and "-0.010 (95 %: -0.100 to 0.100)" in goes and "0.100 (95 %: -0.020" in goes
    none = replace(stage, size_everywhere=Estimate(0.01, -0.1, 0.1))
    assert what_stays(SanityResult({}, none, 100, 3)) == []
    assert "19 texts, fewer than 20" in what_stays(SanityResult({}, stage, 19, 3))[0]


def test_sizes_over_all_words_stand_beside_the_signed_likeness() -> None:
    first = [figure.key for figure in Sanity.figures if figure.headline]
    assert first == ["sanity.whole.signed.mean", "sanity.whole.size_everywhere.mean"]
