"""How things go with a concept: the formula, what strata do, and how many of many tests are believed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from splade.surgery.association import FALSE_DISCOVERIES, PRIOR_TEXTS, admitted, association


def there(*columns: list[int]) -> csr_matrix:
    return csr_matrix(np.array(columns).T)


def test_the_formula() -> None:
    concept = np.array([True] * 4 + [False] * 6)
    amount = np.array([2, 3, 4, 1] + [1] * 6)
    found = association(there([1, 1, 1, 0] + [1] + [0] * 5), concept, np.zeros(10, dtype=int), amount)
    prior = PRIOR_TEXTS * 1.6
    alpha = prior * 4 / 16
    cells = [3 + alpha, 7 + prior - alpha, 1 + alpha, 5 + prior - alpha]
    delta = math.log(cells[0] / cells[1]) - math.log(cells[2] / cells[3])
    error = math.sqrt(sum(1 / cell for cell in cells))
    assert (found.with_it[0], found.without[0]) == (3, 1)
    assert found.log_odds[0] == pytest.approx(delta) and found.z[0] == pytest.approx(delta / error)
    assert found.error[0] == pytest.approx(error)


def test_what_goes_with_the_class_alone_does_not_go_with_the_concept() -> None:
    """Within each class the thing is as frequent with the concept as without it; over all texts it is not."""
    generator = np.random.default_rng(0)
    stratum = np.repeat([0, 1], 2000)
    concept = generator.random(4000) < np.where(stratum == 1, 0.7, 0.1)
    thing = csr_matrix((generator.random(4000) < np.where(stratum == 1, 0.6, 0.05))[:, None].astype(float))
    amount = np.full(4000, 5)
    assert association(thing, concept, np.zeros(4000, dtype=int), amount).z[0] > 10
    assert abs(association(thing, concept, stratum, amount).z[0]) < 3


def test_what_is_only_likelier_because_texts_are_longer_does_not_go_with_the_concept() -> None:
    generator = np.random.default_rng(0)
    concept = generator.random(4000) < 0.3
    words = generator.random((4000, 50)) < np.where(concept, 0.2, 0.1)[:, None]
    found = association(csr_matrix(words.astype(float)), concept, np.zeros(4000, dtype=int), words.sum(1))
    assert np.abs(found.z).max() < 4 and abs(found.z.mean()) < 0.5
    alone = association(csr_matrix(words.astype(float)), concept, np.zeros(4000, dtype=int), np.full(4000, 1))
    assert alone.z.min() > 4


def test_a_stratum_of_one_kind_tells_nothing() -> None:
    concept, stratum = np.array([True, True, False, False]), np.array([0, 0, 1, 1])
    found = association(there([1, 1, 0, 0]), concept, stratum, np.ones(4))
    assert found.z[0] == 0 and found.log_odds[0] == 0 and found.error[0] == math.inf
    assert (found.with_it[0], found.without[0]) == (2, 0)


@given(st.lists(st.floats(-5, 9), max_size=60), st.sampled_from([0.01, 0.2]))
def test_admitted_as_benjamini_and_hochberg_say(z: list[float], share: float) -> None:
    chance = [0.5 * math.erfc(each / math.sqrt(2)) for each in z]
    most = max((i for i in range(1, len(z) + 1) if sorted(chance)[i - 1] <= share * i / len(z)), default=0)
    found = admitted(np.array(z), share)
    assert found.sum() == most
    assert not found.any() or np.array(z)[found].min() >= np.array(z)[~found].max(initial=-np.inf)


def test_of_noise_hardly_anything_is_admitted() -> None:
    generator = np.random.default_rng(0)
    concept, noise = generator.random(1000) < 0.3, csr_matrix((generator.random((1000, 500)) < 0.1).astype(float))
    found = association(noise, concept, np.zeros(1000, dtype=int), noise.getnnz(1))
    assert admitted(found.z).sum() <= 500 * FALSE_DISCOVERIES
