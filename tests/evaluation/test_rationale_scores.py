"""Agreement of word scores with marked words: figures by hand, and against scikit-learn."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from splade.evaluation.rationale_scores import (
    average_precision,
    expected_average_precision,
    share_of_words,
    spread_over_phrases,
    token_f1,
)

GOLD = np.array([True, False, True, False])


def scores(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


class TestAveragePrecision:
    def test_by_hand(self) -> None:
        """The marked words are first and third: (1/1 + 2/3) / 2."""
        assert average_precision(GOLD, scores(4, 3, 2, 1)) == pytest.approx(5 / 6)

    def test_a_perfect_order_a_reversed_one_and_silence(self) -> None:
        assert average_precision(GOLD, scores(2, 0, 1, -1)) == 1.0
        assert average_precision(GOLD, scores(-2, 0, -1, 1)) == pytest.approx((1 / 3 + 2 / 4) / 2)
        assert average_precision(GOLD, scores(0, 0, 0, 0)) == 0.5, "the share of words marked"

    def test_equal_scores_come_together(self) -> None:
        """After the first word (recall 1/2, precision 1) all others at once: recall 1, precision 2/4."""
        assert average_precision(GOLD, scores(1, 0, 0, 0)) == pytest.approx(0.5 * 1 + 0.5 * 0.5)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.tuples(st.booleans(), st.sampled_from([-1.0, 0.0, 0.5, 2.0])), min_size=1, max_size=12))
    def test_as_scikit_learn_has_it(self, words: list[tuple[bool, float]]) -> None:
        gold, values = np.array([mark for mark, _ in words]), np.array([value for _, value in words])
        if gold.any():
            assert average_precision(gold, values) == pytest.approx(average_precision_score(gold, values))


class TestExpectedAveragePrecision:
    @pytest.mark.parametrize("values", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 1), (3, 3, 3, 1)])
    def test_is_the_mean_over_all_orders_of_equal_scores(self, values: tuple[float, ...]) -> None:
        orders = []
        for order in permutations(range(4)):
            untied = scores(*values) + 0.01 * np.array(order)
            orders.append(average_precision(GOLD, untied))
        assert expected_average_precision(GOLD, scores(*values)) == pytest.approx(np.mean(orders))

    def test_without_ties_it_is_average_precision(self) -> None:
        assert expected_average_precision(GOLD, scores(4, 3, 2, 1)) == pytest.approx(5 / 6)


class TestTokenF1:
    def test_by_hand(self) -> None:
        """Of the two highest words one is marked: 2·1 / (2 + 2); of the three highest both: 2·2 / (3 + 2)."""
        assert token_f1(GOLD, scores(4, 3, 2, 1), 2) == 0.5
        assert token_f1(GOLD, scores(4, 3, 2, 1), 3) == pytest.approx(0.8)

    def test_what_is_left_to_chance_is_meant(self) -> None:
        """The first word, and one of three of which one is marked: 1 + 1/3 hits."""
        assert token_f1(GOLD, scores(1, 0, 0, 0), 2) == pytest.approx(2 * (1 + 1 / 3) / 4)
        assert token_f1(GOLD, scores(0, 0, 0, 0), 2) == pytest.approx(0.5)

    def test_a_perfect_and_a_reversed_explanation(self) -> None:
        assert (token_f1(GOLD, scores(1, 0, 1, 0), 2), token_f1(GOLD, scores(-1, 0, -1, 0), 2)) == (1.0, 0.0)

    def test_scores_spread_over_the_words_around(self) -> None:
        """Weights of words 0, 1, 2 away: 1, e^(−1/4.5), e^(−4/4.5)."""
        near, far = np.exp(-1 / 4.5), np.exp(-4 / 4.5)
        edge, next_ = far / (1 + near + far), near / (1 + 2 * near)
        assert spread_over_phrases(scores(4, 2)).tolist() == pytest.approx(
            [(4 + 2 * near) / (1 + near), (2 + 4 * near) / (1 + near)]
        )
        assert spread_over_phrases(scores(0, 0, 3)).tolist() == pytest.approx(
            [3 * edge, 3 * next_, 3 / (1 + near + far)]
        )
        assert spread_over_phrases(scores(1, 1, 1, 1)).tolist() == pytest.approx([1] * 4), "as it was at the edges too"

    def test_a_share_is_one_word_at_least(self) -> None:
        assert (share_of_words(0.35, 10), share_of_words(0.01, 10), share_of_words(0.5, 1)) == (4, 1, 1)
