"""What is measured of a tagger: by `seqeval`, on what `tag()` returned, for the tags that were decoded."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from splade.circuits.sequence_core import TagCircuitState
from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit
from splade.evaluation.capped import Capped
from splade.evaluation.completeness import Completeness
from splade.evaluation.entity_scores import EntityScoreMeasure, entity_scores
from splade.evaluation.frozen_share import FrozenShare
from splade.evaluation.heaviest_words import HeaviestWords
from splade.evaluation.identity import Identity
from splade.evaluation.input_share import InputShare, size_on_input
from splade.evaluation.measure import References, Scope, Seen
from splade.evaluation.mechanistic import all_logits
from splade.evaluation.registers import Registers
from splade.evaluation.self_activation import SelfActivation
from splade.evaluation.sequence_mechanistic import Evaluation, evaluate_tagging
from splade.evaluation.sparsity import Sparsity
from splade.evaluation.strongest import Strongest
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import TaggingTask
from tests.builders import TAGS, build_model, tagged_sentences


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("tagger"), "neighbourhood+dictionary", task="tagging", active=25)


@pytest.fixture(scope="module")
def task(model: LexicalSAE) -> TaggingTask:
    return TaggingTask(TaggedSplit(*tagged_sentences(24)), model.tokenizer, 10, TAGS)  # some in several windows


@pytest.fixture(scope="module")
def found(model: LexicalSAE, task: TaggingTask) -> Evaluation:
    return evaluate_tagging(model, task, EvaluationConfig(), share=0.1, references=References(lambda: model.backbone))


def test_entities_count_whole_and_with_their_type(model: LexicalSAE) -> None:
    split = TaggedSplit([["bank", "of", "london"], ["john", "smith", "saw", "paris"]], [[1, 2, 2], [3, 4, 0, 1]])
    task = TaggingTask(split, model.tokenizer, 64, TAGS)
    scores = entity_scores(task, np.array([1, 2, 0, 3, 4, 0, 3]))  # a place cut short, and one taken for a person
    assert (scores.precision, scores.recall) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert scores.per_type.keys() == {"LOC", "PER"}
    assert (scores.per_type["PER"].precision, scores.per_type["PER"].recall) == (0.5, 1.0)
    assert scores.per_type["LOC"].support == 2 and scores.token_accuracy == pytest.approx(5 / 7)
    assert scores.confusion == [[1, 0, 0], [1, 2, 1], [0, 0, 2]]  # words of O, LOC, PER


def test_what_carries_most_is_asked_at_the_words_tagged_as_entities(
    model: LexicalSAE, task: TaggingTask, found: Evaluation
) -> None:
    tags = task.decode(all_logits(model, task, 64))
    heaviest = found[Registers].heaviest
    assert heaviest is not None and heaviest.rows == int((tags != task.iob2.outside).sum())
    assert "O" not in heaviest.by_class and heaviest.by_class.keys() <= set(TAGS)
    assert found[HeaviestWords].heaviest_word is None and found[HeaviestWords].artefacts == []


def test_figures_are_of_every_labelled_word(model: LexicalSAE, task: TaggingTask, found: Evaluation) -> None:
    logits = all_logits(model, task, 64)
    written = found.to_json()
    assert found[EntityScoreMeasure].f1 == task.score(logits)
    assert found.rows == written["words"] == len(task.labels) and written["evaluated"] == len(task) > 24
    assert found[Identity].max_error < 1e-4 and found[Identity].mean_error <= found[Identity].max_error
    active = found[Sparsity].active_tokens.mean
    assert 0 < active < model.vocab_size
    assert found[Sparsity].sparsity == pytest.approx(1 - active / model.vocab_size)


def test_an_identity_that_is_broken_in_what_tag_returns_is_shown(
    model: LexicalSAE, task: TaggingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check must not decide anew from the rows: it would then test itself."""
    tag = model.tag

    def wrong(*arguments: Tensor) -> TagCircuitState:
        state = tag(*arguments)  # type: ignore[arg-type]
        off = torch.zeros_like(state.logits)
        off[0, 3] = 0.25  # of one word, for one tag
        return dataclasses.replace(state, logits=state.logits + off)

    monkeypatch.setattr(model, "tag", wrong)
    found = evaluate_tagging(model, task, EvaluationConfig(batch_size=1000), share=0.1)
    assert found[Identity].max_error == pytest.approx(0.25, abs=1e-4)
    assert found[Identity].mean_error == pytest.approx(0.25 / len(task.labels) / len(TAGS), abs=1e-5)


def test_the_check_is_of_the_tokens_a_cap_left(model: LexicalSAE, task: TaggingTask) -> None:
    whole = model.config
    try:
        model.config = dataclasses.replace(whole, topk_per_position=3)
        found = evaluate_tagging(model, task, EvaluationConfig(), share=0.1)
    finally:
        model.config = whole
    assert found[Sparsity].active_tokens.max == 3 and found[Identity].max_error < 1e-4


def test_active_tokens_at_words_of_entities(model: LexicalSAE, task: TaggingTask, found: Evaluation) -> None:
    active = np.zeros(len(task.labels))
    with torch.no_grad():
        for batch in task.in_order(64, model.device):
            active[batch.places] = task.predict(model, batch).rows.counts
    entities = active[task.labels != 0]
    of_entities = found[Sparsity].subsets["entities"]
    assert of_entities is not None
    assert of_entities.mean == pytest.approx(entities.mean()) != found[Sparsity].active_tokens.mean
    assert sum(of_entities.histogram["counts"]) == len(entities)
    nothing = TaggingTask(TaggedSplit([["a", "film"]], [[0, 0]]), model.tokenizer, 10, TAGS)
    without = evaluate_tagging(model, nothing, EvaluationConfig(), share=0.1)
    assert without[Sparsity].subsets == {"entities": None} and without[Sparsity].active_tokens.mean > 0
    assert without.to_json()["active_tokens_entities"] is None


def test_keeping_everything_is_the_whole_model(model: LexicalSAE, task: TaggingTask) -> None:
    config = EvaluationConfig(completeness_shares=[1.0])
    found = evaluate_tagging(model, task, config, share=0.1)
    argmax = all_logits(model, task, 64).argmax(-1).numpy()
    assert found[Completeness].rows.shares[1.0].accuracy == pytest.approx(float((argmax == task.labels).mean()))
    named = task.labels != 0
    right = float((argmax[named] == task.labels[named]).mean())
    of_entities = found[Completeness].subsets["entities"].shares[1.0]
    assert of_entities.accuracy == pytest.approx(right)
    assert of_entities.kl == pytest.approx(0, abs=1e-5)
    assert FrozenShare not in found.results


def test_a_cap_above_every_word_changes_nothing_and_one_below_says_whom(found: Evaluation) -> None:
    active, capped = found[Sparsity].active_tokens, found[Capped].topk_per_position
    assert active.max <= 200
    assert capped[200].f1 == found[EntityScoreMeasure].f1 and capped[200].capped == 0
    assert capped[200].active_tokens == pytest.approx(active.mean)
    assert 0 < capped[20].capped < 1 and capped[20].active_tokens < 20


@torch.no_grad()
def test_the_share_on_the_word_itself(model: LexicalSAE, task: TaggingTask, found: Evaluation) -> None:
    batch = task.batch(range(6))
    assert batch.words is not None
    state = task.predict(model, batch)
    attribution = compute_attribution_tensor(state, batch.labels)
    on, everything = size_on_input(batch.input_ids, task.row_of_position(batch), attribution)
    own = 0.0
    entries = (attribution.row.tolist(), attribution.token.tolist(), attribution.value.abs().tolist())
    for row, token, value in zip(*entries, strict=True):
        own += value if token in batch.input_ids[batch.words == row] else 0.0
    assert on == pytest.approx(own, rel=1e-4) and everything > own > 0
    assert 0 < found[InputShare].input_share < 1 and 0 <= found[SelfActivation].self_activation <= 1
    assert found[FrozenShare].frozen_share is not None


def test_explains_the_tag_that_was_decoded(model: LexicalSAE, task: TaggingTask) -> None:
    """Raw argmaxes of an untrained tagger are impossible sequences somewhere; the sums still hold for what is said."""
    logits = all_logits(model, task, 64)
    tags = task.decode(logits)
    assert (tags != logits.argmax(-1).numpy()).any()
    batch = task.batch(range(len(task)))
    state, classes = task.predict(model, batch), torch.from_numpy(tags[batch.places])
    total = compute_attribution_tensor(state, classes).sum_rows() + state.b_eff.gather(1, classes[:, None])[:, 0]
    torch.testing.assert_close(total, state.logits.gather(1, classes[:, None])[:, 0], atol=1e-4, rtol=0)


def test_the_frozen_share_is_of_the_tag_decoded(model: LexicalSAE, task: TaggingTask, found: Evaluation) -> None:
    logits = all_logits(model, task, 64)
    decoded, argmax = task.decode(logits), logits.argmax(-1).numpy()
    share = frozen_share(model, task, decoded)
    assert found[FrozenShare].frozen_share == pytest.approx(share)
    assert share != pytest.approx(frozen_share(model, task, argmax), abs=1e-6)


@torch.no_grad()
def frozen_share(model: LexicalSAE, task: TaggingTask, classes: np.ndarray) -> float | None:
    """What `FrozenShare` finds in the contributions to given classes of all words."""
    measure = FrozenShare(
        Scope(model, task, EvaluationConfig(), share=0.1, references=References(lambda: model.backbone))
    )
    for batch in task.in_order(64, model.device):
        state, of_batch = task.predict(model, batch), torch.from_numpy(classes[batch.places])
        measure.update(Seen(batch, state, of_batch, compute_attribution_tensor(state, of_batch)))
    return measure.result().frozen_share


def test_another_seed_looks_at_the_same_sentences(model: LexicalSAE, task: TaggingTask) -> None:
    config = EvaluationConfig(max_samples=7)
    first, second = (evaluate_tagging(model, task, config, share=0.1, seed=seed) for seed in (1, 2))
    assert (first[Sparsity], first.rows) == (second[Sparsity], second.rows)
    assert first.to_json()["grounding"] == second.to_json()["grounding"]


def test_same_seed_same_figures(model: LexicalSAE, task: TaggingTask, tmp_path: Path) -> None:
    config = EvaluationConfig(max_samples=7)
    first, second = (evaluate_tagging(model, task, config, share=0.1, seed=4) for _ in range(2))
    assert first.results == second.results and first.to_json() == second.to_json()
    assert first.to_json()["evaluated"] == 7


def test_the_strongest_token_is_counted_for_the_tags_decoded(
    model: LexicalSAE, task: TaggingTask, found: Evaluation
) -> None:
    tags = task.decode(all_logits(model, task, 8))
    for tag, strongest in found[Strongest].strongest.items():
        assert 0 < strongest.share <= 1 <= strongest.different <= strongest.rows
        assert strongest.rows <= int((tags == model.labels.index(tag)).sum())
    assert sum(each.rows for each in found[Strongest].strongest.values()) > 0.9 * found.rows
