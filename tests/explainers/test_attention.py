"""Attention received in the last layer."""

from __future__ import annotations

import pytest

from splade.explainers import Attention, ExplainerParts, WordText
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model
from tests.explainers.builders import subject


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"))


def test_it_is_the_mean_of_what_a_word_receives(model: LexicalSAE) -> None:
    of_model = subject(model)
    short, long = WordText.of("good film"), WordText.of("a very long and very dull film")
    found = Attention(ExplainerParts()).explain(of_model, [short, long], [0, 0])
    [batch] = of_model.read([short])
    weights = of_model.attention(batch)  # (1, heads, 4, 4)
    assert weights.sum(-1).flatten().tolist() == pytest.approx([1.0] * 8, abs=1e-5)
    expected = weights.mean((0, 1, 2))[1:3]  # between `[CLS]` and `[SEP]`
    assert found[0].scores == pytest.approx(expected.numpy(), abs=1e-5)  # whatever it is padded to
    assert 0 < found[1].scores.sum() < 1 and found[0].total is None


def test_the_usual_attention_comes_back(model: LexicalSAE) -> None:
    usual = model.backbone.config._attn_implementation
    Attention(ExplainerParts()).explain(subject(model), [WordText.of("good film")], [0])
    assert model.backbone.config._attn_implementation == usual != "eager"
