"""Layers bypassed and read, of every family of backbones, and their comparison by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from splade.config.schema import ModelConfig
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.mechanistic.layerwise import Lens, among_strongest, bypass_layers, compare, read_layers
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import CircuitState
from tests.builders import (
    FAMILIES,
    MAX_POSITIONS,
    NOUNS,
    build_backbone_folder,
    build_model,
    encode,
    sparse_rows,
    toy_reviews,
)

TEXTS = toy_reviews(5)[0]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


@pytest.fixture(scope="module")
def model(root: Path) -> LexicalSAE:
    return build_model(root)


@pytest.fixture(
    params=[(family, head) for family in FAMILIES for head in (True, False)], ids=lambda p: f"{p[0]}-{p[1]}"
)
def any_model(root: Path, request: pytest.FixtureRequest) -> LexicalSAE:
    """A model of each family, with a head of its own and without."""
    family, head = request.param
    backbone, tokenizer = Backbone.from_name(str(build_backbone_folder(root / str(head), family, head)))
    settings = {"support": "full", "hidden_size": 16, "dtype": "float32", "head": "relu_mlp", "token_dropout": 0.0}
    model = LexicalSAE(backbone, tokenizer, ["a", "b"], ModelConfig(**settings), max_length=MAX_POSITIONS)  # type: ignore[arg-type]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        for parameter in model.head.parameters():  # it starts at 0
            parameter.copy_(torch.randn_like(parameter))
    model.calibrate([encode(model, TEXTS)], 3.0)
    return model.eval()


@torch.no_grad()
def predict(model: LexicalSAE) -> CircuitState:
    return model.classify(model(*encode(model, TEXTS)))


def read(model: LexicalSAE, texts: list[str] = TEXTS) -> Lens:
    return read_layers(model, *encode(model, texts), model.classify)


def ones(state: CircuitState) -> Tensor:
    return torch.ones(len(state.logits), dtype=torch.long)


def test_contributions_are_compared_by_hand() -> None:
    attribution = sparse_rows({1: 2.0, 3: -1.0, 5: 1.0}, {2: 4.0}, {})
    without = sparse_rows({1: 1.0, 3: 1.0, 7: 3.0}, {2: -4.0}, {6: 1.0})
    logits, turned = torch.tensor([[1.0, 0.0]] * 3), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = compare(attribution, without, logits, turned)
    assert found.size.tolist() == [4, 4, 0]
    assert found.kept.tolist() == [1 - 1, -4, 0]  # token 3 turned round, 5 is gone; 2 turned round
    assert found.silenced.tolist() == [1, 0, 0]
    assert found.new.tolist() == [3, 0, 1] and found.size_without.tolist() == [5, 4, 1]
    assert found.flipped.tolist() == [False, True, False]
    nothing = compare(attribution, sparse_rows({}, {}, {}), logits, logits)
    assert nothing.kept.tolist() == [0, 0, 0] and nothing.silenced.tolist() == [4, 4, 0] and not nothing.flipped.any()


def test_every_family_is_bypassed_and_read(any_model: LexicalSAE) -> None:
    state = predict(any_model)
    assert len(state.rows) > 5
    found = bypass_layers(any_model, lambda: predict(any_model), state, ones(state))
    assert len(found) == 2
    size = compute_attribution_tensor(state, ones(state)).value.abs()
    for layer in found:
        torch.testing.assert_close(layer.size, state.rows.sum_rows(size))
        assert (layer.kept - layer.size).abs().max() > 0.01 * layer.size.max()  # every layer does something
        assert (layer.silenced <= layer.size + 1e-6).all() and (layer.new <= layer.size_without + 1e-6).all()
    lens = read(any_model)
    torch.testing.assert_close(lens.state.logits, state.logits)
    assert lens.active.shape == lens.agrees.shape == (3, 5) and lens.agrees[-1].all()
    assert torch.equal(lens.active[-1], state.rows.counts) and not torch.equal(lens.active[0], lens.active[-1])
    assert lens.settled.shape == (len(state.rows),) and {0, 2} <= set(lens.settled.tolist()) <= {0, 1, 2}
    torch.testing.assert_close(predict(any_model).logits, state.logits, atol=0, rtol=0)  # all is as before


def test_a_layer_that_does_nothing_adds_nothing(model: LexicalSAE) -> None:
    with model.backbone.bypass_layer(1):
        state = predict(model)
        working, idle = bypass_layers(model, lambda: predict(model), state, ones(state))
        lens = read(model)
    torch.testing.assert_close(idle.kept, idle.size)
    assert not idle.silenced.any() and not idle.new.any() and not idle.flipped.any()
    assert not torch.allclose(working.kept, working.size)
    assert torch.equal(lens.active[1], lens.active[2]) and lens.agrees[1].all() and lens.settled.max() <= 1


def test_the_strongest_by_hand() -> None:
    final = sparse_rows({1: 1.0, 2: 1.0}, {3: 1.0}, {})
    earlier = sparse_rows({1: 0.5, 2: 3.0, 4: 2.0, 5: 0.1}, {3: 9.0, 1: 8.0}, {1: 1.0})
    # Of the first row's two places, one is taken by token 4: token 1 is active, and not yet among them.
    assert among_strongest(final, earlier).tolist() == [False, True, True]
    assert among_strongest(final, sparse_rows({}, {}, {})).tolist() == [False, False, False]
    assert among_strongest(final, final).all()


def test_an_entry_is_settled_from_the_layer_on_after_which_it_never_falls(model: LexicalSAE) -> None:
    ids, mask = encode(model, ["good"])
    all_three = sparse_rows({3: 1.0, 4: 1.0, 5: 1.0})
    decided = iter([all_three, sparse_rows({3: 1.0, 5: 1.0, 9: 2.0, 8: 0.5}), all_three])  # from the last layer down

    def decide(sequence: object) -> CircuitState:
        return replace(predict(model), rows=next(decided), logits=torch.tensor([[0.0, 1.0]]))

    lens = read_layers(model, ids, mask, decide)
    assert lens.settled.tolist() == [0, 2, 0]  # token 4 was there, and fell
    assert lens.active.tolist() == [[3], [4], [3]] and lens.agrees.all()


def test_after_no_layer_words_are_read_alone(model: LexicalSAE) -> None:
    """Without layers no position sees another: a far word changes nothing for the tokens of the others."""
    near, far = (model.backbone.after_each_layer(*encode(model, [f"the {word} was good ."])) for word in NOUNS[:2])
    torch.testing.assert_close(near[0][:, 3:], far[0][:, 3:])
    assert not torch.allclose(near[-1][:, 3:], far[-1][:, 3:])
