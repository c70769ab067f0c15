"""The context of a tagged word as a value: the difference of two sums over tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from splade.attribution.context import ContextEffects, context_effect
from splade.attribution.explanation import TokenScore
from splade.attribution.sums import TokenSum


def token_sum(bias: float, **scores: float) -> TokenSum:
    tokens = [TokenScore(name, ord(name), score, 1.0, 3) for name, score in scores.items()]
    return TokenSum(bias + sum(scores.values()), bias, tokens)


def test_an_effect_is_the_sum_of_the_tokens_that_changed() -> None:
    found = context_effect(token_sum(0.5, a=1.0, b=0.25, c=2.0), token_sum(0.25, a=1.5, c=2.0, d=-1.0))
    assert found.effect == pytest.approx(3.75 - 2.75) and found.bias == 0.25
    assert [(one.token, one.change) for one in found.tokens] == [("d", 1.0), ("a", -0.5), ("b", 0.25)]  # c did not
    assert found.check() < 1e-12 and replace(found, bias=0.0).check() == pytest.approx(0.25)
    assert found.to_json() == {
        "effect": found.effect,
        "bias": 0.25,
        "tokens": [{"token": "d", "change": 1.0}, {"token": "a", "change": -0.5}, {"token": "b", "change": 0.25}],
    }


def test_what_was_not_measured_is_none() -> None:
    effect = context_effect(token_sum(0.0, a=1.0), token_sum(0.0))
    context = ContextEffects(1, "O", 1.0, [effect, None, None])
    assert context.change == [1.0, None, None] and context.check() == 0.0
    assert ContextEffects(0, "O", 1.0, [None]).check() == 0.0
