from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splade.attribution.explanation import NO_POSITION, NO_WORD, NOT_A_WORD, Explanation, TokenScore, WordScore

SCORES = st.lists(st.floats(-20, 20), max_size=12)


def build(token_scores: list[float], word_scores: list[float], bias: float, logit: float) -> Explanation:
    return Explanation(
        text="x " * len(word_scores),
        label="yes",
        target="yes",
        logits={"no": 0.0, "yes": logit},
        probabilities={"no": 0.5, "yes": 0.5},
        bias=bias,
        tokens=[TokenScore(f"t{i}", i, score, 1.0, i) for i, score in enumerate(token_scores)],
        words=[WordScore("x", 2 * i, 2 * i + 1, score) for i, score in enumerate(word_scores)],
    )


@given(SCORES, st.floats(-5, 5))
def test_check_is_zero_when_both_sums_give_the_logit(scores: list[float], bias: float) -> None:
    assert build(scores, scores[::-1], bias, sum(scores) + bias).check() < 1e-9


@given(SCORES, st.floats(0.01, 5), st.booleans())
def test_check_sees_an_error_in_either_sum(scores: list[float], error: float, in_tokens: bool) -> None:
    wrong = [*scores, error]
    tokens, words = (wrong, scores) if in_tokens else (scores, wrong)
    assert build(tokens, words, 0.5, sum(scores) + 0.5).check() == pytest.approx(error, abs=1e-9)


@given(SCORES)
def test_tokens_come_strongest_first(scores: list[float]) -> None:
    sizes = [abs(token.score) for token in build(scores, [], 0.0, 0.0).tokens]
    assert sizes == sorted(sizes, reverse=True)


def test_words_come_in_reading_order_whatever_order_they_arrive_in() -> None:
    shuffled = [WordScore("b", 4, 5, 1.0), WordScore("a", 1, 2, 1.0), WordScore(NO_WORD, 0, 0, 0.1)]
    words = dataclasses.replace(build([], [], 0.0, 0.0), words=shuffled).words
    assert [word.word for word in words] == [NO_WORD, "a", "b"]


def test_json_has_exactly_the_promised_keys() -> None:
    explanation = Explanation(
        text="good",
        label="yes",
        target="no",
        logits={"no": np.float32(-1.5), "yes": np.float32(1.5)},
        probabilities={"no": 0.05, "yes": 0.95},
        bias=np.float32(0.5),
        tokens=[TokenScore(NOT_A_WORD, NO_POSITION, -0.5, 0.2, NO_POSITION), TokenScore("good", 7, -1.5, 2.0, 1)],
        words=[WordScore("good", 0, 4, -2.0, ["good"])],
    )
    written = json.loads(json.dumps(explanation.to_json()))  # NumPy numbers included
    assert written == {
        "text": "good",
        "label": "yes",
        "target": "no",
        "logits": {"no": -1.5, "yes": 1.5},
        "probabilities": {"no": 0.05, "yes": 0.95},
        "bias": 0.5,
        "constant_bias": False,
        "truncated": False,
        "tokens": [
            {"token": "good", "score": -1.5, "value": 2.0, "position": 1},
            {"token": "(not a word)", "score": -0.5, "value": 0.2, "position": -1},
        ],
        "words": [{"word": "good", "start": 0, "end": 4, "score": -2.0}],
    }
    assert explanation.check() == 0.0


def test_an_explanation_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        build([1.0], [1.0], 0.0, 1.0).bias = 2.0  # type: ignore[misc]
