"""The gradient family on tiny models: sums that must hold, and what a gradient costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from splade.explainers import (
    DLA,
    EXPLAINERS,
    Explainer,
    ExplainerParts,
    Gradient,
    GradientShap,
    GradientTimesInput,
    IntegratedGradients,
    IntegratedGradientsL2,
    Subject,
    WordText,
)
from splade.models.lexical_sae import LexicalSAE
from tests.builders import FAMILIES, build_dense, build_model, encode, toy_reviews
from tests.explainers.builders import subject

TEXTS = [WordText.of(text) for text in [*toy_reviews(4)[0], "unwatchable", ""]]
CLASSES = [0, 1, 1, 0, 1, 0]
OF_MODELS = [name for name in EXPLAINERS.names() if name != "tfidf"]  # which explains itself


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return subject(build_dense(tmp_path_factory.mktemp("dense")))


def test_integrated_gradients_add_up_to_the_difference_from_the_baseline(dense: Subject) -> None:
    logits = dense.logits([text.text for text in TEXTS])
    found = IntegratedGradients(ExplainerParts(steps=200)).explain(dense, TEXTS, CLASSES)
    coarse = IntegratedGradients(ExplainerParts(steps=2)).explain(dense, TEXTS, CLASSES)
    explained = np.array([float(logits[row, target]) for row, target in enumerate(CLASSES)])
    errors, coarse_errors = (np.abs([one.total for one in each] - explained) for each in (found, coarse))
    assert errors.max() < 2e-3 and coarse_errors.sum() > 3 * errors.sum()
    assert np.abs([one.base for one in found] - explained).max() > 0.05  # there was something to explain


def test_what_the_baseline_keeps_has_no_part(dense: Subject) -> None:
    [found] = IntegratedGradients(ExplainerParts()).explain(dense, [WordText("good film", ((0, 4),))], [1])
    assert len(found.scores) == 1 and found.elsewhere == 0.0  # `film` is no word here, and stays


def test_a_gradient_is_read_backward_too(dense: Subject) -> None:
    def passes(explainer: Explainer) -> int:
        before = dense.passes
        explainer.explain(dense, TEXTS[:2], CLASSES[:2])
        return dense.passes - before

    assert passes(Gradient(ExplainerParts())) == 2 * 2
    assert passes(IntegratedGradients(ExplainerParts(steps=10))) == 2 * (2 * 10 + 1)
    assert passes(GradientShap(ExplainerParts(steps=10))) == 2 * (2 * 10 + 1)


def test_gradients_are_those_of_finite_differences(dense: Subject) -> None:
    text = WordText.of("good film")
    [batch] = dense.read([text])
    embeddings, step = dense.embeddings(batch.input_ids), 2e-3
    slopes = torch.zeros_like(embeddings)
    with torch.no_grad():
        for place in range(1, 3):
            for d in range(embeddings.shape[-1]):
                ends = []
                for sign in (1, -1):
                    moved = embeddings.clone()
                    moved[0, place, d] += sign * step
                    ends.append(dense.logits_of_embeddings(moved, batch.input_ids, batch.attention_mask)[0, 1])
                slopes[0, place, d] = (ends[0] - ends[1]) / (2 * step)
    [length] = Gradient(ExplainerParts()).explain(dense, [text], [1])
    [signed] = GradientTimesInput(ExplainerParts()).explain(dense, [text], [1])
    assert length.scores == pytest.approx(slopes[0, 1:3].norm(dim=-1).numpy(), rel=0.02)
    assert signed.scores == pytest.approx((slopes * embeddings)[0, 1:3].sum(-1).numpy(), rel=0.05, abs=1e-3)


def test_the_same_seed_draws_the_same_points_and_leaves_the_generators_alone(dense: Subject) -> None:
    def scores(seed: int) -> list[float]:
        [found] = GradientShap(ExplainerParts(seed=seed, steps=5)).explain(dense, TEXTS[:1], CLASSES[:1])
        return found.scores.tolist()

    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert scores(0) == scores(0) != scores(1)
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == states


def test_many_random_points_come_near_the_integral(dense: Subject) -> None:
    [exact] = IntegratedGradients(ExplainerParts()).explain(dense, TEXTS[:1], CLASSES[:1])
    [drawn] = GradientShap(ExplainerParts(steps=600)).explain(dense, TEXTS[:1], CLASSES[:1])
    assert drawn.scores == pytest.approx(exact.scores, abs=0.1 * np.abs(exact.scores).max())
    assert drawn.base == pytest.approx(exact.base)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "bert"])
def test_every_family_is_explained_by_all(family: str, tmp_path: Path) -> None:
    model = build_model(tmp_path, family=family)
    of_model = subject(model)
    before = of_model.logits(["good film"])
    for name in OF_MODELS:
        found = EXPLAINERS.get(name)(ExplainerParts(steps=3, lime_samples=20)).explain(of_model, TEXTS, CLASSES)
        assert [len(each.scores) for each in found] == [len(text) for text in TEXTS]
        assert all(np.isfinite(each.scores).all() for each in found), name
        assert name == "empty" or any(np.abs(each.scores).sum() > 0 for each in found), name
    assert of_model.logits(["good film"]).tolist() == before.tolist()  # each leaves the model as it was


@pytest.mark.parametrize("support", ["full", "neighbourhood", "dictionary"])
@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_every_support_and_pooling_is_explained_by_all(support: str, pooling: str, tmp_path: Path) -> None:
    model = build_model(tmp_path, support, pooling=pooling)
    for name in OF_MODELS:
        found = EXPLAINERS.get(name)(ExplainerParts(steps=3, lime_samples=20)).explain(subject(model), TEXTS, CLASSES)
        assert [len(each.scores) for each in found] == [len(text) for text in TEXTS]
        assert name == "empty" or any(np.abs(each.scores).sum() > 0 for each in found), name


@pytest.fixture(scope="module", params=["relu_mlp", "tied_mlp", "bcos"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), head=request.param)


@torch.no_grad()
def test_at_the_bottleneck_gradient_times_input_is_our_attribution_of_a_relu_head(model: LexicalSAE) -> None:
    ids, mask = encode(model, [text.text for text in TEXTS])
    state = model.classify(model(ids, mask), mask)
    classes = torch.tensor(CLASSES)
    parts = ExplainerParts()
    exact = DLA(parts).explain_tokens(model, state, classes)
    product = GradientTimesInput(parts).explain_tokens(model, state, classes)
    if model.config.head == "bcos":  # whose map changes with its input
        assert (product - exact).abs().max() > 1e-3
    else:
        assert product.numpy() == pytest.approx(exact.numpy(), abs=1e-5)
    assert Gradient(parts).explain_tokens(model, state, classes).min() >= 0


@torch.no_grad()
def test_integrated_gradients_of_tokens_add_up(model: LexicalSAE) -> None:
    ids, mask = encode(model, [text.text for text in TEXTS])
    state = model.classify(model(ids, mask), mask)
    classes = torch.tensor(CLASSES)
    scores = IntegratedGradients(ExplainerParts(steps=300)).explain_tokens(model, state, classes)
    nothing = model.decide(state.rows.select(torch.zeros(len(state.rows), dtype=torch.bool))).logits
    gained = (state.logits - nothing).gather(1, classes[:, None])[:, 0]
    assert state.rows.sum_rows(scores).numpy() == pytest.approx(gained.numpy(), abs=0.02)
    assert IntegratedGradientsL2(ExplainerParts(steps=300)).explain_tokens(model, state, classes).numpy() == (
        pytest.approx(scores.abs().numpy())
    )
