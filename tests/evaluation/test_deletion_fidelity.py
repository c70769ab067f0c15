"""Deletion fidelity, by hand; bad explanations score badly on every figure."""

from __future__ import annotations

import numpy as np
import pytest

from splade.evaluation.deletion_fidelity import FIGURES, WordEffects, chance_fidelity, deletion_fidelity, mean_fidelity


def words(shares: list[float], effects: list[float]) -> WordEffects:
    return WordEffects(np.array(shares), np.array(effects))


def test_by_hand() -> None:
    # Shares 2, 0, 1 and effects 1, 1, −1: mean effect 1/3, Σ(e − ē)² = 3 − 1/3 = 8/3, Σ(e − s)² = 1 + 1 + 4 = 6.
    # Σ(s − s̄)(e − ē) = Σse − ΣsΣe/3 = 1 − 1 = 0, so that the correlation is 0.
    # Of three pairs of words, (2, 0) ties in effect, (2, 1) agrees, (0, 1) does not: τ-b = 0.
    # The top word by share has the highest effect. Both heard words are 2 (effect 1, right) and 1 (effect −1, wrong).
    # Of Σ|effect| = 3, one is on the silent word.
    found = deletion_fidelity([words([2, 0, 1], [1, 1, -1])])
    assert found.r2 == pytest.approx(1 - 6 / (8 / 3))
    assert found.pearson == pytest.approx(0, abs=1e-12) and found.tau == pytest.approx(0, abs=1e-12)
    assert (found.top_word, found.right_sign, found.silent_effect) == pytest.approx((1, 0.5, 1 / 3))
    assert (found.texts, found.words) == (1, 3)


def test_what_deletion_does_is_perfect_and_its_reverse_is_not() -> None:
    generator = np.random.default_rng(0)
    effects = [generator.normal(size=12) for _ in range(40)]
    true = deletion_fidelity([WordEffects(effect, effect) for effect in effects])
    assert (true.pearson, true.r2, true.tau, true.top_word) == pytest.approx((1, 1, 1, 1))
    assert (true.right_sign, true.silent_effect) == pytest.approx((1, 0))
    reversed_ = deletion_fidelity([WordEffects(-effect, effect) for effect in effects])
    assert reversed_.tau == pytest.approx(-1)
    assert reversed_.pearson == pytest.approx(-1) and reversed_.r2 == pytest.approx(-3, abs=0.1)
    assert reversed_.top_word == 0 and reversed_.right_sign == 0
    random = deletion_fidelity([WordEffects(generator.permutation(effect), effect) for effect in effects])
    assert random.r2 is not None and random.r2 < 0 and random.intervals["tau"].low < 0 < random.intervals["tau"].high
    assert random.top_word is not None and random.top_word < 0.3


def test_silence_is_no_explanation() -> None:
    effects = [np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, 0.2])]
    empty = deletion_fidelity([WordEffects(np.zeros(3), effect) for effect in effects])
    assert empty.pearson is None and empty.right_sign is None and empty.tau == 0 and empty.silent_effect == 1
    assert empty.r2 is not None and empty.r2 <= 0
    assert empty.top_word == pytest.approx(1 / 3)  # as good as a guess


def test_texts_without_an_order_are_left_out() -> None:
    nothing = deletion_fidelity([words([], []), words([1], [1])])
    assert nothing.texts == 0 and all(getattr(nothing, name) is None for name in FIGURES)


def test_intervals_hold_the_figures_and_narrow_with_more_texts() -> None:
    generator = np.random.default_rng(1)

    def figures(texts: int) -> float:
        effects = [generator.normal(size=8) for _ in range(texts)]
        found = deletion_fidelity([WordEffects(e + generator.normal(size=8), e) for e in effects])
        for name, interval in found.intervals.items():
            assert interval.low <= getattr(found, name) <= interval.high
        return found.intervals["tau"].high - found.intervals["tau"].low

    assert figures(200) < figures(20)


def test_several_draws_are_averaged_by_hand() -> None:
    """Of two words with effects 1 and 0, shares as they are give τ 1 and the right top word, swapped τ −1 and not."""
    right, swapped = words([1, 0], [1, 0]), words([0, 1], [1, 0])
    found = mean_fidelity([[right], [swapped]])
    assert found.tau == pytest.approx(0) and found.top_word == 0.5 and (found.texts, found.words) == (1, 2)
    assert found.r2 == pytest.approx(1 - (0 + 2) / 2 / 0.5)
    assert mean_fidelity([[right]]) == deletion_fidelity([right])


def test_chance_keeps_the_shares_and_loses_their_words() -> None:
    generator = np.random.default_rng(0)
    effects = [generator.normal(size=12) for _ in range(60)]
    texts = [WordEffects(np.where(np.abs(effect) > 0.5, effect, 0.0), effect) for effect in effects]
    true, chance = deletion_fidelity(texts), chance_fidelity(texts)
    assert true.tau is not None and true.tau > 0.8 and chance.tau is not None and abs(chance.tau) < 0.05
    assert chance.top_word == pytest.approx(1 / 12, abs=0.05) and chance.right_sign == pytest.approx(0.5, abs=0.05)
    silent = np.mean([np.mean(text.shares == 0) for text in texts])
    assert chance.silent_effect == pytest.approx(silent, abs=0.05), "as much effect as there are silent words"
    assert true.r2 is not None and chance.r2 is not None and chance.r2 < -0.5 < 0.8 < true.r2
    assert chance == chance_fidelity(texts) != chance_fidelity(texts, seed=1)
