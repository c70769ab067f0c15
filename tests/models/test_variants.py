"""Every head with every pooling: sums of tokens and of words are the logit, after training, in bfloat16, and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from splade.config.schema import TrainingConfig
from splade.evaluation.mechanistic import dla_errors
from splade.inference import explain_batch
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.training.objective import Objective
from tests.builders import build_model, encode, position_scores, toy_reviews

HEADS = {"relu_mlp": {}, "tied_mlp": {}, "bcos": {}, "bcos of 3": {"head_layers": 3}}
VARIANTS = [(head, pooling) for head in HEADS for pooling in ("max", "attention")][1:]
TEXTS, LABELS = toy_reviews(8, seed=3)
HARD_TEXTS = [*TEXTS[:2], "", "the of and", "unwatchable charming unwatchable", "good good good good bad"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def build(folder: Path, head: str, pooling: str, support: str = "neighbourhood", **more: Any) -> LexicalSAE:
    settings = {"head": head.split()[0], "pooling": pooling, **HEADS[head], **more}
    return build_model(folder, support, classes=3, **settings)


def train(model: LexicalSAE, steps: int = 4) -> None:
    """Some steps of the whole objective, circuit losses included."""
    objective = Objective(3, model.vocab_size, TrainingConfig(active_target=5), model.backbone.hidden_size)
    optimizer = torch.optim.AdamW([*model.parameters(), *objective.parameters()], lr=1e-2)
    model.train()
    for _ in range(steps):
        sequence = model(*encode(model, TEXTS))
        loss, _ = objective(model, model.classify(sequence), torch.tensor(LABELS), True, 1.0, sequence)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        objective.end_step(lambda tensor: tensor, len(TEXTS))
    model.eval()


@torch.no_grad()
def assert_exact(model: LexicalSAE) -> None:
    ids, mask = encode(model, HARD_TEXTS)
    state = model.classify(model(ids, mask))
    assert (state.rows.counts > 0).any()
    assert float(dla_errors(state).max()) <= 1e-4
    attribution = compute_attribution_tensor(state, torch.zeros(len(ids), dtype=torch.long))
    by_text = position_scores(attribution, ids.numel()).view_as(ids).sum(1) + state.b_eff[:, 0]
    torch.testing.assert_close(by_text, state.logits[:, 0], rtol=0, atol=1e-4)
    assert max(explanation.check() for explanation in explain_batch(model, HARD_TEXTS)) <= 1e-4


@pytest.mark.parametrize("head, pooling", VARIANTS)
def test_sums_are_exact_before_and_after_training(folder: Path, head: str, pooling: str) -> None:
    model = build(folder, head, pooling)
    assert_exact(model)
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}
    train(model)
    assert all(not torch.equal(p, before[name]) for name, p in model.named_parameters() if name.startswith("head."))
    assert_exact(model)


@pytest.mark.parametrize("head, pooling", [("bcos", "max"), ("bcos of 3", "attention")])
def test_sums_are_exact_with_a_bfloat16_backbone(folder: Path, head: str, pooling: str) -> None:
    model = build(folder, head, pooling, "full", dtype="bfloat16")
    assert model.precision == torch.bfloat16
    train(model, 2)
    assert_exact(model)


@pytest.mark.parametrize("head, pooling", [("bcos of 3", "attention")])
def test_a_saved_variant_is_read_back(folder: Path, tmp_path: Path, head: str, pooling: str) -> None:
    model = build(folder, head, pooling)
    with torch.no_grad():
        model.encoder.pooling.query.normal_()
    model.save_pretrained(tmp_path / "model")
    again = LexicalSAE.from_pretrained(tmp_path / "model", "cpu")
    ids, mask = encode(model, HARD_TEXTS)
    with torch.no_grad():
        torch.testing.assert_close(again.classify(again(ids, mask)).logits, model.classify(model(ids, mask)).logits)


def test_a_token_from_two_places_is_named_at_both(folder: Path) -> None:
    model = build(folder, "relu_mlp", "attention")
    (explanation,) = explain_batch(model, ["charming plot , charming film"])
    first, second = (word for word in explanation.words if word.word == "charming")
    assert set(first.tokens) & set(second.tokens)
    assert len({token.token_id for token in explanation.tokens}) == len(explanation.tokens)
