"""Words removed and kept in an order, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from splade.evaluation.word_faithfulness import changed_texts, ranked, word_changes, word_sizes
from splade.explainers import WordText
from tests.explainers.builders import BagOfWords

TEXT = WordText.of("a good film , truly great")
SUBJECT = BagOfWords({"good": 1.0, "great": 2.0, "[MASK]": -0.5})
TRUE = np.array([0, 1.0, 0, 0, 0, 2.0])


def probability(logit: float) -> float:
    """Of the second class of a bag of words, whose other logit is the opposite."""
    return 1 / (1 + math.exp(-2 * logit))


def test_the_numbers_of_words_are_those_of_the_shares() -> None:
    assert word_sizes(0) == []
    assert word_sizes(1) == [1]
    assert word_sizes(6) == [1, 2, 3]  # ceil of 0.06, 0.3, 0.6, 1.2 and 3
    assert word_sizes(100) == [1, 5, 10, 20, 50]


def test_words_are_removed_and_kept() -> None:
    without, alone, hidden, shown = changed_texts(TEXT, np.array([5, 1, 0, 2, 3, 4]), "[MASK]")
    assert without == ["a good film , truly", "a film , truly", "film , truly"]
    assert alone == ["great", "good great", "a good great"]
    assert hidden[0] == "a good film , truly [MASK]"
    assert shown[1] == "[MASK] good [MASK] [MASK] [MASK] great"
    assert len(changed_texts(TEXT, np.arange(6), None)) == 2


def test_equal_scores_come_in_one_random_order() -> None:
    order = ranked(np.array([0, 0, 3.0, 0, 0, -1.0]), 0)
    assert order[0] == 2 and order[-1] == 5 and sorted(order) == list(range(6))
    assert ranked(np.zeros(50), 0).tolist() == ranked(np.ones(50), 0).tolist() != list(range(50))


def test_changes_are_those_of_the_probability() -> None:
    [found] = word_changes(SUBJECT, [TEXT], [1], [TRUE], 0)
    full = probability(3)
    without = [probability(1), probability(0), probability(0)]
    alone = [probability(2), probability(3), probability(3)]
    hidden = [probability(0.5), probability(-1), probability(-1.5)]
    shown = [probability(2 - 2.5), probability(3 - 2), probability(3 - 1.5)]
    expected = [full - sum(each) / 3 for each in (without, alone, hidden, shown)]
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_other_class_is_asked_for_as_well() -> None:
    [found] = word_changes(SUBJECT, [TEXT], [0], [-TRUE], 0)
    assert found[0] == pytest.approx(0)  # of words against it, those that say nothing are named first
    [right] = word_changes(SUBJECT, [TEXT], [1], [TRUE], 0)
    [wrong] = word_changes(SUBJECT, [TEXT], [1], [-TRUE], 0)
    assert right[0] > wrong[0] + 0.1 and right[1] < wrong[1] - 0.1


def test_without_words_or_a_mask_there_is_nothing_to_say() -> None:
    subject = BagOfWords({"good": 1.0}, mask=None)
    found = word_changes(subject, [WordText.of(""), WordText.of("good")], [1, 1], [np.zeros(0), np.ones(1)], 0)
    assert np.isnan(found[0]).all() and np.isnan(found[1, 2:]).all()
    assert found[1, :2].tolist() == pytest.approx([probability(1) - 0.5, 0.0])
