"""Context of a tagged word: what deleting another word of the sentence does to the logit of its tag, as an exact sum.

A tagger's logit at a word is a sum of the vocabulary tokens that fired there, in the sentence and in the sentence
without another word, so that their difference is a sum of tokens too:

    effect(w) = logit(sentence) − logit(sentence without w)
              = Σ_tokens (score in the sentence − score without w) + (bias − bias without w)

The effects of several words do not add up to the logit: words that stand in for one another hide each other's part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from splade.attribution.explanation import TokenScore
from splade.attribution.sums import TokenSum


@dataclass(frozen=True)
class TokenChange:
    """A vocabulary token that fires otherwise at the word where another word is deleted."""

    token: str
    token_id: int
    """−1 for those that are no words, together."""
    change: float
    """Its score in the sentence less its score without the word deleted."""


@dataclass(frozen=True)
class ContextEffect:
    """What deleting one word does to the logit of a tag at another."""

    effect: float
    """The logit in the sentence less the logit without the word; above 0: it spoke for the tag."""
    tokens: list[TokenChange]
    """All that changed, largest |change| first."""
    bias: float
    """The bias in the sentence less the bias without the word."""

    def check(self) -> float:
        """The error of the sum, |Σ tokens + bias − effect|."""
        return abs(math.fsum([self.bias, *(token.change for token in self.tokens)]) - self.effect)

    def to_json(self) -> dict[str, object]:
        """What `context` holds of a word."""
        tokens = [{"token": token.token, "change": token.change} for token in self.tokens]
        return {"effect": self.effect, "bias": self.bias, "tokens": tokens}


@dataclass(frozen=True)
class ContextEffects:
    """What every other word of a sentence does to the logit of one tag at one word."""

    word: int
    """The word decided on, by its number in the sentence."""
    tag: str
    logit: float
    effects: list[ContextEffect | None]
    """Of each word of the sentence. None where that was not measured: at the word itself, and at words that are not in
    its window."""

    @property
    def change(self) -> list[float | None]:
        """The effects alone."""
        return [None if one is None else one.effect for one in self.effects]

    def check(self) -> float:
        """The largest error of a sum."""
        return max((one.check() for one in self.effects if one is not None), default=0.0)


def context_effect(before: TokenSum, after: TokenSum) -> ContextEffect:
    """The difference of two sums over tokens."""
    names = {token.token_id: token.token for token in (*before.tokens, *after.tokens)}
    with_it, without = _scores(before.tokens), _scores(after.tokens)
    changes = [TokenChange(name, n, with_it.get(n, 0.0) - without.get(n, 0.0)) for n, name in names.items()]
    tokens = sorted((one for one in changes if one.change), key=lambda one: -abs(one.change))
    return ContextEffect(before.logit - after.logit, tokens, before.bias - after.bias)


def _scores(tokens: Sequence[TokenScore]) -> dict[int, float]:
    return {token.token_id: token.score for token in tokens}
