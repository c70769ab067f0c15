"""The layers in the results: figures by hand, on classifiers and taggers, and where nothing is active."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.errors import BackboneError
from splade.evaluation import layerwise
from splade.evaluation.layerwise import Layerwise, LayerwiseResult, _estimates
from splade.evaluation.run import evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews


def measured(model: LexicalSAE, task: Task) -> LayerwiseResult:
    config = EvaluationConfig(batch_size=8, measures=["layerwise"])
    return evaluate(model, task, config, share=0.1)[Layerwise]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def found(classifier: LexicalSAE) -> LayerwiseResult:
    return measured(classifier, ClassificationTask(TextSplit(*toy_reviews(20)), classifier.tokenizer, 64))


def test_figures_by_hand() -> None:
    # Of one layer: rows, size, kept, silenced, new, size without, flipped; settled, active, agrees after 0 and 1.
    terms = np.array(
        [
            [1, 4, 3, 1, 1, 5, 0, 2, 4, 30, 10, 0, 1],
            [1, 6, -2, 0, 2, 4, 1, 3, 6, 60, 20, 1, 1],
            [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1],  # nothing active: only counts among predictions
        ],
        dtype=float,
    )
    figures = _estimates(terms, np.arange(3), 1, seed=0)
    means = {name: [each.mean for each in values if each] for name, values in figures.items()}
    assert means == {
        "added": [pytest.approx(1 - 1 / 10)],
        "silenced": [pytest.approx(0.1)],
        "new": [pytest.approx(3 / 9)],
        "flips": [pytest.approx(1 / 3)],
        "settled": [pytest.approx(0.5), 1.0],
        "active": [30.0, 10.0],
        "agrees": [pytest.approx(2 / 3), 1.0],
    }
    flips = figures["flips"][0]
    assert flips is not None and flips.low == 0 and flips.high == 1


def test_a_classifier(found: LayerwiseResult, classifier: LexicalSAE) -> None:
    layers, summary = found.layerwise, found.layerwise_summary
    assert [one.layer for one in layers] == [0, 1, 2] and (summary.texts, summary.rows) == (20, 20)
    assert (layers[0].added, layers[0].flips) == (None, None)
    for one in layers[1:]:
        assert one.added is not None and one.silenced is not None and one.flips is not None
        assert one.added.low <= one.added.mean <= one.added.high and 0 <= one.silenced.mean <= 1
    settled = [one.settled.mean for one in layers if one.settled]
    assert settled == sorted(settled) and settled[-1] == pytest.approx(1)
    assert layers[-1].agrees is not None and layers[-1].agrees.mean == 1
    assert summary.depth == pytest.approx(sum(1 - share for share in settled))  # Σ l·share(l) = Σ P(later than l)
    added = {one.layer: one.added.mean for one in layers if one.added}
    assert summary.largest == max(added, key=lambda layer: added[layer])
    names = [name for one in layers for name in one.reasons]
    assert names and len(set(names)) == len(names) and set(names) <= set(classifier.vocabulary.names)


def test_the_layers_are_a_list_in_the_results(found: LayerwiseResult) -> None:
    written = Layerwise.to_json(found)
    assert [one["layer"] for one in written["layerwise"]] == [0, 1, 2]
    grid = Layerwise.tables[0].read(written)
    assert grid is not None and [row[0].text for row in grid.rows] == ["embeddings", "1", "2"]
    drawn = [drawing.read(written) for drawing in Layerwise.drawings]
    assert [[line.name for line in each.lines] for each in drawn] == [  # type: ignore[union-attr]
        ["contribution gone", "on tokens that fall silent", "predicted otherwise"],
        ["contribution that is there to stay", "predicted as in the end"],
    ]


def test_few_texts_at_a_time_find_the_same(
    found: LayerwiseResult, classifier: LexicalSAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layerwise, "MOST_ENTRIES", 3 * classifier.vocab_size)
    again = measured(classifier, ClassificationTask(TextSplit(*toy_reviews(20)), classifier.tokenizer, 64))
    assert again.layerwise_summary.depth == pytest.approx(found.layerwise_summary.depth)
    for one, other in zip(found.layerwise, again.layerwise, strict=True):
        assert one.reasons == other.reasons and astuple(one.settled) == pytest.approx(astuple(other.settled))  # type: ignore[arg-type]


def test_a_tagger_at_the_words_of_entities(tmp_path: Path) -> None:
    model = build_model(tmp_path, "neighbourhood+dictionary", task="tagging", active=25)
    task = TaggingTask(TaggedSplit(*tagged_sentences(16)), model.tokenizer, 10, TAGS)
    result = measured(model, task)
    assert 0 < result.layerwise_summary.rows < len(task.labels)
    assert result.layerwise[-1].settled is not None and result.layerwise[-1].settled.mean == pytest.approx(1)


def test_where_nothing_speaks_there_is_nothing_to_say(tmp_path: Path) -> None:
    model = build_model(tmp_path, "neighbourhood+dictionary", task="tagging")
    with torch.no_grad():
        model.encoder.gate.raw.fill_(50.0)  # every threshold out of reach
        for parameter in model.head.parameters():
            parameter.zero_()  # all words are O
    result = measured(model, TaggingTask(TaggedSplit(*tagged_sentences(4)), model.tokenizer, 64, TAGS))
    assert result.layerwise_summary.rows == 0 and result.layerwise_summary.depth is None
    assert all(one.added is None and one.settled is None and one.reasons == [] for one in result.layerwise)


def test_a_text_without_active_tokens_counts_among_predictions(classifier: LexicalSAE) -> None:
    task = ClassificationTask(TextSplit(["", "a good movie"], [0, 1]), classifier.tokenizer, 64)
    result = measured(classifier, task)
    assert result.layerwise_summary.rows == 2 and result.layerwise[1].added is not None


def test_a_backbone_that_uses_one_layer_several_times_is_left_out(
    classifier: LexicalSAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier.backbone.config, "num_hidden_layers", 5)
    assert not classifier.backbone.has_separate_layers
    task = ClassificationTask(TextSplit(*toy_reviews(4)), classifier.tokenizer, 64)
    with pytest.raises(BackboneError, match="no list of separate layers"), classifier.backbone.bypass_layer(0):
        pass
    config = EvaluationConfig(batch_size=8, measures=["layerwise", "identity"])
    assert Layerwise not in evaluate(classifier, task, config, share=0.1).results
