"""Attributions plus b_eff are the logits, exactly, for every class, support and text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.circuits.core import CircuitState
from splade.mechanistic.attribution import compute_active_slice_weff, compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from tests.builders import WORDS, build_model, encode, position_scores, toy_reviews

CLASSES = 3
SUPPORT = ["neighbourhood", "full", "dictionary", "neighbourhood+dictionary", "full+neighbourhood"]
TEXT = st.lists(st.sampled_from([*WORDS, "unwatchable", "café", "!", "n't", "☃"]), max_size=20).map(" ".join) | st.text(
    max_size=30
)
TEXTS = toy_reviews(5, seed=4)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def models(folder: Path) -> dict[str, LexicalSAE]:
    return {support: build_model(folder, support, classes=CLASSES) for support in SUPPORT}


@pytest.fixture(scope="module")
def model(models: dict[str, LexicalSAE]) -> LexicalSAE:
    return models["neighbourhood"]


def predict(model: LexicalSAE, texts: list[str]) -> CircuitState:
    return model.classify(model(*encode(model, texts)))


def of(state: CircuitState, number: int) -> torch.Tensor:
    """The same class for every row."""
    return torch.full((state.rows.num_rows,), number)


def assert_exact(model: LexicalSAE, texts: list[str]) -> None:
    input_ids, mask = encode(model, texts)
    state = model.classify(model(input_ids, mask))
    for number in range(CLASSES):
        attribution = compute_attribution_tensor(state, of(state, number))
        logit, bias = state.logits[:, number], state.b_eff[:, number]
        torch.testing.assert_close(attribution.sum_rows() + bias, logit, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(attribution.to_dense(), state.sparse_vector * state.W_eff[:, number])
        positions = position_scores(attribution, input_ids.numel()).view_as(input_ids)
        torch.testing.assert_close(positions.sum(1) + bias, logit, rtol=1e-5, atol=1e-5)
        assert not positions[mask == 0].any()


@pytest.mark.parametrize("support", SUPPORT)
@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=3))
def test_attributions_and_bias_sum_to_every_logit(
    models: dict[str, LexicalSAE], support: str, texts: list[str]
) -> None:
    assert_exact(models[support], texts)
    models[support].train()  # entries just below their threshold count for nothing
    assert_exact(models[support], texts)
    models[support].eval()


@pytest.mark.parametrize("family", ["roberta", "deberta", "modernbert"])
def test_other_families_too(folder: Path, family: str) -> None:
    model = build_model(folder, "neighbourhood+dictionary", family, classes=CLASSES)
    assert predict(model, TEXTS).rows.counts.min() > 0
    assert_exact(model, [*TEXTS, ""])


def test_a_bfloat16_backbone_changes_nothing_about_it(folder: Path) -> None:
    assert_exact(build_model(folder, "neighbourhood+dictionary", classes=CLASSES, dtype="bfloat16"), TEXTS)


def test_each_row_may_have_its_own_class(model: LexicalSAE) -> None:
    state = predict(model, TEXTS)
    classes = torch.tensor([2, 0, 1, 1, 2])
    attribution = compute_attribution_tensor(state, classes)
    expected = state.logits.gather(1, classes[:, None])[:, 0] - state.b_eff.gather(1, classes[:, None])[:, 0]
    torch.testing.assert_close(attribution.sum_rows(), expected, rtol=1e-5, atol=1e-5)


def test_a_position_scores_what_the_tokens_it_gave_score(model: LexicalSAE) -> None:
    input_ids, mask = encode(model, TEXTS)
    sequence = model(input_ids, mask)
    state = model.classify(sequence)
    attribution = compute_attribution_tensor(state, of(state, 1))
    source = sequence.to_dense().argmax(1)  # (B, V) position each token came from
    expected = torch.zeros(input_ids.shape).scatter_add(1, source, attribution.to_dense().detach())
    torch.testing.assert_close(position_scores(attribution, input_ids.numel()).view_as(input_ids), expected)


def test_the_active_slice_agrees_with_the_dense_map(model: LexicalSAE) -> None:
    state = predict(model, TEXTS)
    active = state.sparse_vector
    from_region, tokens = compute_active_slice_weff(active, state.region)
    from_dense, again = compute_active_slice_weff(active, state.W_eff)
    assert tokens.tolist() == again.tolist() == (active > 0).any(0).nonzero().flatten().tolist()
    assert 0 < len(tokens) < model.vocab_size
    torch.testing.assert_close(from_region, from_dense)
    torch.testing.assert_close(from_region, state.W_eff[:, :, tokens])
    total = torch.einsum("rk,rck->rc", active[:, tokens], from_region) + state.b_eff
    torch.testing.assert_close(total, state.logits, rtol=1e-5, atol=1e-5)


def test_the_gradient_reaches_values_and_head_as_through_the_dense_formula(model: LexicalSAE) -> None:
    state = predict(model, TEXTS)
    wanted = [state.rows.value, model.head.words, model.head.out.weight]
    weight = torch.randn(len(TEXTS), model.vocab_size, generator=torch.Generator().manual_seed(0))
    ours = compute_attribution_tensor(state, of(state, 1)).to_dense()
    plain = state.sparse_vector * state.W_eff[:, 1]
    expected = torch.autograd.grad((plain * weight).sum(), wanted, retain_graph=True)
    for mine, reference in zip(torch.autograd.grad((ours * weight).sum(), wanted), expected, strict=True):
        assert reference.any()
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)
