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
    found = association(there([1, 1, 1, 0] + [1] + [0] * 5), concept, np.zeros(10, dtype=int))
    alpha = PRIOR_TEXTS * 4 / 10
    cells = [3 + alpha, 1 + PRIOR_TEXTS - alpha, 1 + alpha, 5 + PRIOR_TEXTS - alpha]
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
    assert association(thing, concept, np.zeros(4000, dtype=int)).z[0] > 10
    assert abs(association(thing, concept, stratum).z[0]) < 3


def test_a_stratum_of_one_kind_tells_nothing() -> None:
    concept, stratum = np.array([True, True, False, False]), np.array([0, 0, 1, 1])
    found = association(there([1, 1, 0, 0]), concept, stratum)
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
    found = association(noise, concept, np.zeros(1000, dtype=int))
    assert admitted(found.z).sum() <= 500 * FALSE_DISCOVERIES
