"""ERASER and removability of a model: which rows are looked at, and that a bad explanation scores badly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.eraser import Changes, Eraser, EraserResult
from splade.evaluation.estimate import Estimate
from splade.evaluation.faithfulness import Removability, RemovabilityResult
from splade.evaluation.measure import Scope, Seen
from splade.evaluation.memory import Memory
from splade.evaluation.removal import NUMBERS, SHARES, SpeakingRows, erase
from splade.evaluation.run import evaluate
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.tasks import ClassificationTask, TaggingTask, Task, read
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews

CONFIG = EvaluationConfig(measures=["eraser", "removability"])

Explain = Callable[[SparseRows], SparseRows]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    # With a bias: nearly linear, though untrained, so that the order of the sum is nearly the best one.
    return build_model(tmp_path_factory.mktemp("classifier"), active=20, hidden_bias=True)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    supports = "neighbourhood+dictionary"
    return build_model(tmp_path_factory.mktemp("tagger"), supports, task="tagging", active=25, hidden_bias=True)


def reviews(model: LexicalSAE, texts: list[str], labels: list[int]) -> ClassificationTask:
    return ClassificationTask(TextSplit(texts, labels), model.tokenizer, 64)


def mean(of: Estimate | None) -> float:
    assert of is not None and of.low <= of.mean <= of.high
    return of.mean


@torch.no_grad()
def measured(model: LexicalSAE, task: Task, explain: Explain) -> tuple[EraserResult, RemovabilityResult]:
    """What both measures find when the contributions that they are shown are others."""
    scope = Scope(model, task, CONFIG, share=0.1)
    eraser, removability = Eraser(scope), Removability(scope)
    for batch, state in read(model, task, 8):
        classes = state.logits.argmax(-1)
        seen = Seen(batch, state, classes, explain(compute_attribution_tensor(state, classes)))
        eraser.update(seen)
        removability.update(seen)
    return eraser.result(), removability.result()


@pytest.mark.parametrize("bad", ["reversed", "random"])
@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_a_bad_explanation_scores_badly(kind: str, bad: str, model: LexicalSAE, tagger: LexicalSAE) -> None:
    task: Task = reviews(model, *toy_reviews(40))
    if kind == "tagger":
        model, task = tagger, TaggingTask(TaggedSplit(*tagged_sentences(40)), tagger.tokenizer, 64, TAGS)
    generator = torch.Generator().manual_seed(5)
    worsen: dict[str, Explain] = {
        "reversed": lambda rows: rows.with_value(-rows.value),
        "random": lambda rows: rows.with_value(torch.rand(len(rows), generator=generator)),
    }
    (good, removable), (worse, less) = (measured(model, task, each) for each in (lambda rows: rows, worsen[bad]))
    assert (good.rows, good.silent) == (worse.rows, worse.silent) == (removable.rows, removable.silent)
    assert mean(good.aopc.comprehensiveness) > mean(worse.aopc.comprehensiveness) + 0.02
    assert mean(good.aopc.sufficiency) < mean(worse.aopc.sufficiency) - 0.02
    assert mean(good.naopc.comprehensiveness) > 0.9 > 0.6 > mean(worse.naopc.comprehensiveness)
    assert mean(good.naopc.sufficiency) < 0.1 < 0.3 < mean(worse.naopc.sufficiency)
    for number in (1, 3, 5):
        assert mean(removable.tokens[number].drop) > mean(less.tokens[number].drop)
    assert mean(removable.tokens[5].flip_rate) > mean(less.tokens[5].flip_rate)


def test_random_tokens_are_worse_and_follow_the_seed(model: LexicalSAE) -> None:
    task = reviews(model, *toy_reviews(40))
    first, again, other = (evaluate(model, task, CONFIG, share=0.1, seed=seed)[Eraser] for seed in (1, 1, 2))
    assert first == again
    assert mean(first.aopc.random_comprehensiveness) != mean(other.aopc.random_comprehensiveness)
    assert mean(first.aopc.comprehensiveness) == mean(other.aopc.comprehensiveness)
    assert mean(first.aopc.comprehensiveness) > mean(first.aopc.random_comprehensiveness)
    assert mean(first.naopc.comprehensiveness) > mean(first.naopc.random_comprehensiveness)


def test_removability_is_that_of_the_same_removals(model: LexicalSAE) -> None:
    found = evaluate(model, reviews(model, *toy_reviews(30)), CONFIG, share=0.1)
    erased, removed = found[Eraser], found[Removability]
    assert erased.shares.keys() == removed.shares.keys() == {*SHARES}
    assert erased.tokens.keys() == removed.tokens.keys() == {*NUMBERS}
    for number in NUMBERS:
        assert removed.tokens[number].drop == erased.tokens[number].comprehensiveness
        assert removed.tokens[number].random_drop == erased.tokens[number].random_comprehensiveness
    assert removed.rows == erased.rows == erased.naopc.rows == 30
    rates = [mean(removed.tokens[number].flip_rate) for number in NUMBERS]
    assert min(rates) >= 0 and max(rates) <= 1 and rates[-1] > rates[0]


def test_texts_without_active_tokens_are_left_out_and_counted(model: LexicalSAE) -> None:
    texts, labels = toy_reviews(6)
    whole = evaluate(model, reviews(model, texts, labels), CONFIG, share=0.1)[Eraser]
    found = evaluate(model, reviews(model, [*texts, "", "the of"], [*labels, 0, 1]), CONFIG, share=0.1)
    assert (
        (found[Eraser].rows, found[Eraser].silent) == (found[Removability].rows, found[Removability].silent) == (6, 2)
    )
    assert mean(found[Eraser].aopc.comprehensiveness) == pytest.approx(mean(whole.aopc.comprehensiveness), abs=1e-6)
    nothing = evaluate(model, reviews(model, ["", "the of"], [0, 1]), CONFIG, share=0.1)
    assert nothing[Eraser].aopc == nothing[Eraser].tokens[1] == Changes(None, None, None, None)
    assert (nothing[Eraser].rows, nothing[Eraser].silent, nothing[Eraser].naopc.rows) == (0, 2, 0)
    assert nothing.to_json()["removability"]["tokens"]["3"]["flip_rate"] is None


def test_of_a_tagger_the_words_tagged_as_entities_are_looked_at(tagger: LexicalSAE) -> None:
    task = TaggingTask(TaggedSplit(*tagged_sentences(24)), tagger.tokenizer, 10, TAGS)  # some in several windows
    found = evaluate(tagger, task, CONFIG, share=0.1)
    classes = found.scope.classes
    assert classes is not None
    entities = int((classes != task.iob2.outside).sum())
    assert 0 < found[Eraser].rows + found[Eraser].silent == entities < len(classes)
    with torch.no_grad():
        batch, state = next(iter(read(tagger, task, 64)))
        decided = torch.from_numpy(classes[batch.places])
        rows = SpeakingRows.of(task, Seen(batch, state, decided, compute_attribution_tensor(state, decided)))
    assert np.array_equal(rows.classes.numpy(), classes[rows.places]) and (rows.classes != task.iob2.outside).all()
    assert (rows.state.rows.counts > 0).all()


def test_does_not_depend_on_the_batches(model: LexicalSAE) -> None:
    task = reviews(model, *toy_reviews(20))
    one, many = (evaluate(model, task, replace(CONFIG, batch_size=size), share=0.1)[Eraser] for size in (20, 3))
    assert mean(one.aopc.comprehensiveness) == pytest.approx(mean(many.aopc.comprehensiveness), abs=1e-6)
    assert mean(one.naopc.comprehensiveness) == pytest.approx(mean(many.naopc.comprehensiveness), abs=1e-4)


def test_a_measure_is_remembered_as_it_was(model: LexicalSAE, tmp_path: Path) -> None:
    task = reviews(model, *toy_reviews(8))
    first, again = (evaluate(model, task, CONFIG, share=0.1, memory=Memory(tmp_path, "m", "d")) for _ in range(2))
    assert first.results == again.results and first.to_json() == again.to_json()


def test_random_tokens_are_the_mean_of_five_draws(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    task, rankings = reviews(model, *toy_reviews(6)), []

    def remembering(model, state, classes, scores):  # type: ignore[no-untyped-def]
        rankings.append(scores)
        return erase(model, state, classes, scores)

    monkeypatch.setattr("splade.evaluation.removal_measure.erase", remembering)
    found = evaluate(model, task, replace(CONFIG, measures=["eraser"]), share=0.1)[Eraser]
    assert len(rankings) == 6 and len({tuple(ranking.tolist()) for ranking in rankings}) == 6
    with torch.no_grad():
        _, state = next(iter(read(model, task, 64)))
        draws = [erase(model, state, state.logits.argmax(-1), ranking) for ranking in rankings[1:]]
    expected = np.mean([float(draw.aopc(draw.comprehensiveness).mean()) for draw in draws])
    assert mean(found.aopc.random_comprehensiveness) == pytest.approx(expected, abs=1e-6)
