"""The scaling metrics: the code in the place of the hidden state, and all three in the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from splade.config.schema import EvaluationConfig, ModelConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.downstream_loss import DownstreamLoss, _result, vocabulary_vectors
from splade.evaluation.measure import References
from splade.evaluation.run import evaluate
from splade.evaluation.scaling_metrics import Scaling, compute_ablation_sparsity, compute_downstream_loss
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from tests.builders import (
    MAX_POSITIONS,
    TAGS,
    build_backbone_folder,
    build_model,
    encode,
    tagged_sentences,
    toy_reviews,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), "full+neighbourhood", active=40)


def reviews(model: LexicalSAE, number: int, seed: int = 0) -> Task:
    return ClassificationTask(TextSplit(*toy_reviews(number, seed)), model.tokenizer, 64)


def loss(model: LexicalSAE, texts: int = 16) -> DownstreamLoss | None:
    test, training = reviews(model, texts), reviews(model, 16, seed=1)
    return compute_downstream_loss(model, test, np.arange(texts), training, np.arange(16), batch_size=8, seed=0)


def test_a_vocabulary_vector_is_the_sum_of_its_words(model: LexicalSAE) -> None:
    with torch.no_grad():
        sequence = model(*encode(model, toy_reviews(3)[0]))
        place = torch.arange(1, sequence.input_ids.numel(), 2)
        every = sequence.to_dense().flatten(0, 1) @ model.encoder.weight  # (B·L, d)
        torch.testing.assert_close(vocabulary_vectors(sequence, place), every[place], atol=1e-5, rtol=1e-4)
        assert every[place].abs().sum() > 0


def test_losses_by_hand() -> None:
    losses = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 4.0], [2.0, 2.0, 6.0], [2.0, 3.0, 6.0]])
    found = _result(losses, np.array([0, 0, 1, 1]), 0.5, 2.0, seed=0)
    assert (found.hidden.mean, found.code.mean, found.nothing.mean) == (1.5, 2.5, 5.0)
    assert found.recovered is not None and found.recovered.mean == pytest.approx(2.5 / 3.5)
    assert found.recovered.low == pytest.approx(1.5 / 3) and found.recovered.high == pytest.approx(3.5 / 4)
    worse = _result(losses[:, ::-1], np.array([0, 0, 1, 1]), 0.5, 2.0, seed=0)
    assert worse.recovered is None  # the hidden state knows less than the bias


def test_the_loss_is_that_of_the_masked_language_model(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    from splade.evaluation import downstream_loss

    def last_word(ids: torch.Tensor, mask: torch.Tensor, *_: object) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.zeros_like(mask, dtype=torch.bool)
        chosen[:, 2] = True
        return torch.where(chosen, model.tokenizer.mask_token_id, ids), chosen

    monkeypatch.setattr(downstream_loss, "mask_tokens", last_word)
    found = loss(model)
    ids, mask = encode(model, toy_reviews(16)[0])
    shown = ids.clone()
    shown[:, 2] = model.tokenizer.mask_token_id
    with torch.no_grad():
        hidden = model.backbone(shown, mask)[:, 2]
        weight, bias = (each[: model.vocabulary.tokens] for each in (model.encoder.weight, model.encoder.bias))
        scores = hidden @ weight.T + bias  # no split word is ever the masked token
        nothing = bias.detach().expand_as(scores)
    assert found is not None and found.positions == 16
    assert found.hidden.mean == pytest.approx(float(F.cross_entropy(scores, ids[:, 2])), rel=1e-4)
    assert found.nothing.mean == pytest.approx(float(F.cross_entropy(nothing, ids[:, 2])), rel=1e-4)


def test_a_code_that_says_nothing_keeps_nothing(model: LexicalSAE) -> None:
    spoken = loss(model)
    assert spoken is not None and 0 < spoken.spoken <= 1 and spoken.scale != 0
    assert spoken.code.mean != spoken.nothing.mean
    raw = model.encoder.gate.raw.data.clone()
    try:
        model.encoder.gate.raw.data.fill_(50.0)  # every threshold out of reach
        silent = loss(model)
    finally:
        model.encoder.gate.raw.data.copy_(raw)
    assert silent is not None and (silent.spoken, silent.scale) == (0, 0)
    assert silent.code == silent.nothing and silent.hidden == spoken.hidden
    assert silent.recovered is None or silent.recovered.mean == 0


def test_a_backbone_without_a_trained_head_has_no_such_loss(tmp_path: Path) -> None:
    backbone, tokenizer = Backbone.from_name(str(build_backbone_folder(tmp_path, head=False)))
    settings = {"support": "full", "hidden_size": 16, "dtype": "float32", "head": "relu_mlp"}
    bare = LexicalSAE(backbone, tokenizer, ["a", "b"], ModelConfig(**settings), max_length=MAX_POSITIONS)  # type: ignore[arg-type]
    assert loss(bare) is None


def test_ablation_sparsity_is_between_one_and_all(model: LexicalSAE) -> None:
    with torch.no_grad():
        state = model.classify(model(*encode(model, toy_reviews(6)[0])))
    found = compute_ablation_sparsity(model, state, state.logits.argmax(-1))
    assert found.shape == (6,) and (found >= 1 - 1e-5).all() and (found <= state.rows.counts + 1e-3).all()


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_all_three_in_the_results(task: str, tmp_path: Path) -> None:
    if task == "tagging":
        model = build_model(tmp_path, "neighbourhood+dictionary", task="tagging", active=25)
        tasks = [TaggingTask(TaggedSplit(*tagged_sentences(16, seed)), model.tokenizer, 64, TAGS) for seed in (0, 1)]
    else:
        model = build_model(tmp_path)
        tasks = [reviews(model, 16, seed) for seed in (0, 1)]  # type: ignore[misc]
    config = EvaluationConfig(batch_size=8, measures=["scaling"])
    references = References(load_training=lambda: tasks[1])
    found = evaluate(model, tasks[0], config, share=0.1, references=references)
    written = found.to_json()["scaling"]
    assert written["probing"]["rows"] == len(tasks[0].labels)
    assert set(written["probing"]["columns"]) == {"1", "2", "5"}
    assert written["ablation_sparsity"]["effects"]["mean"] >= 1 and written["downstream_loss"]["positions"] > 0
    grid = Scaling.tables[0].read({"scaling": written})
    assert grid is not None and [row[0].text for row in grid.rows] == ["1 column", "2 columns", "5 columns"]
    assert Scaling not in evaluate(model, tasks[0], config, share=0.1).results  # without training texts
