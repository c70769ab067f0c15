"""Concepts: what carries one is found, what is only frequent is not, and what cannot be one is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from splade.errors import ConfigError, DataError, ModelError
from splade.intervene import Concept, find_concept
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.concepts import FEWEST_TEXTS
from splade.surgery.spoken import read_spoken
from splade.surgery.suppressed_model import SuppressedModel
from splade.tasks import TASKS
from tests.builders import build_model
from tests.surgery.concept_texts import FREQUENT, NEUTRAL, PROXY, WORD, concept_texts, plain_model
from tests.surgery.models import CONTEXT, VARIANTS, state_of

TEXTS, ABOUT = concept_texts(300, 0)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return plain_model(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("name", VARIANTS)
def test_what_speaks_is_all_that_speaks(shared: dict[str, LexicalSAE], name: str) -> None:
    model, texts = shared[name], ["the Film was good", "good unwatchable film", "", "bad"]
    spoken = read_spoken(model, TASKS.get(model.task).from_texts(texts, model))
    state = state_of(model, texts)
    classes = state.logits.argmax(-1)
    sums = compute_attribution_tensor(state, classes).sum_rows().detach()
    found = np.bincount(spoken.text, spoken.contribution, len(texts))
    assert found == pytest.approx(sums.numpy(), abs=1e-4)
    assert spoken.predicted.tolist() == classes.tolist()
    active, said = spoken.in_hands(silence=False)
    assert active.sum() == pytest.approx(float(state.rows.value.sum()), rel=1e-4)
    assert said.sum() == pytest.approx(float(sums.sum()), abs=1e-3)


@pytest.mark.parametrize("name", ["neighbourhood", "neighbourhood+dictionary", "byte-level", "unigram"])
def test_what_a_name_has_in_its_hands_is_what_its_removal_takes(shared: dict[str, LexicalSAE], name: str) -> None:
    """Of texts in which every column speaks at one place, so that no other place takes over."""
    model, texts = shared[name], ["good Film here", "a very bad plot", "film"]
    spoken = read_spoken(model, TASKS.get(model.task).from_texts(texts, model))
    active, _ = spoken.in_hands()
    number = spoken.names.index("film")
    without = state_of(SuppressedModel(model, tokens=["film"], words=["film"]), texts)
    gone = state_of(model, texts).sparse_vector.sum(1) - without.sparse_vector.sum(1)
    taken = active[:, [number]].toarray().ravel()
    assert (taken >= gone.numpy() - 1e-3).all()  # what another place says as well is not gone
    assert taken[1] == pytest.approx(float(gone[1]), abs=1e-3)
    assert taken[2] == pytest.approx(float(gone[2]), abs=1e-3) and taken[2] > 0


@pytest.mark.parametrize("silence", [True, False])
def test_a_word_and_its_proxy_are_found_and_a_frequent_word_is_not(plain: LexicalSAE, silence: bool) -> None:
    found = find_concept(plain, TEXTS, ABOUT, name="people", silence=silence)
    assert {carrier.name for carrier in found.carriers} == {WORD, PROXY}
    assert found.positives == ABOUT.sum() and found.texts == len(TEXTS) and not found.seeds
    for carrier in found.carriers:
        stands = np.array([carrier.name in text.split() for text in TEXTS])
        assert (carrier.with_it, carrier.without) == (stands[ABOUT].sum(), stands[~ABOUT].sum())
        assert carrier.low < carrier.log_odds and carrier.contribution_with > carrier.contribution_without
    removal = found.removal(plain)
    assert {plain.vocabulary.names[token] for token in removal.tokens} == {WORD, PROXY}
    assert removal.words == ({WORD, PROXY} if silence else set())
    assert WORD in found.table() and PROXY in found.table()
    assert Concept.from_json(found.to_json()) == found


def test_seeds_come_first_whatever_they_do_and_those_without_a_place_are_said(plain: LexicalSAE) -> None:
    found = find_concept(plain, TEXTS, seeds=["LONDON", "paris", "two words"])
    assert found.names() == [WORD, "paris", PROXY] and found.seeds == 2
    assert found.absent == ["paris"] and found.unmatched == ("two words",)
    assert "active in none of the texts" in found.table().splitlines()[2]
    assert found.positives == sum(WORD in text.split() for text in TEXTS)
    given = find_concept(plain, TEXTS, ABOUT, seeds=[FREQUENT])
    assert given.names()[0] == FREQUENT and {WORD, PROXY} <= set(given.names())


def test_what_only_speaks_where_another_name_stands_is_no_carrier_unless_that_is_a_seed(tmp_path: Path) -> None:
    model = plain_model(tmp_path, neighbours=3)
    siblings = {
        name
        for name, active in zip(model.vocabulary.names, state_of(model, [WORD]).sparse_vector[0] > 0, strict=False)
        if active
    }
    assert len(siblings) > 1 and WORD in siblings
    assert set(find_concept(model, TEXTS, ABOUT).names()) & (siblings - {WORD}) == set()
    assert siblings - {FREQUENT, *NEUTRAL} <= set(find_concept(model, TEXTS, seeds=[WORD]).names())
    assert siblings & set(find_concept(model, TEXTS, ABOUT, silence=False).names()) > {WORD}


def test_where_concept_and_class_are_one_that_is_said(plain: LexicalSAE) -> None:
    labels = [plain.labels[int(inside)] for inside in ABOUT]
    assert not find_concept(plain, TEXTS, ABOUT, labels=labels).by_class
    assert find_concept(plain, TEXTS, ABOUT, labels=[plain.labels[i % 2] for i in range(len(TEXTS))]).by_class


def test_a_concept_is_refused_that_is_none_or_all_or_too_small(plain: LexicalSAE) -> None:
    for inside, said in (
        (np.zeros(300, dtype=bool), "No text has"),
        (np.ones(300, dtype=bool), "All texts have"),
        (np.arange(300) < FEWEST_TEXTS - 1, f"{FEWEST_TEXTS - 1} texts have"),
    ):
        with pytest.raises(DataError, match=said):
            find_concept(plain, TEXTS, inside)
    with pytest.raises(DataError, match="list of seed words"):
        find_concept(plain, TEXTS)
    with pytest.raises(DataError, match="list of seed words"):
        find_concept(plain, TEXTS, seeds="london")
    with pytest.raises(DataError, match=r"in which paris, two words stands.*no token for: two words"):
        find_concept(plain, TEXTS, seeds=["paris", "two words"])
    with pytest.raises(ConfigError, match="The odds are"):
        find_concept(plain, TEXTS, ABOUT, odds=0.5)
    with pytest.raises(DataError, match="one yes or no for each of 300"):
        find_concept(plain, TEXTS, [True])


def test_a_concept_that_nothing_carries_is_refused(plain: LexicalSAE) -> None:
    with pytest.raises(DataError, match="No word of the model goes with"):
        find_concept(plain, TEXTS, np.random.default_rng(0).random(len(TEXTS)) < 0.5)


def test_a_concept_that_a_class_rests_on_is_refused(plain: LexicalSAE) -> None:
    with pytest.raises(DataError, match="rests on"):
        find_concept(plain, TEXTS, ABOUT, seeds=[WORD, PROXY, FREQUENT, *NEUTRAL])
    found = find_concept(plain, TEXTS, ABOUT)
    assert found.largest == 2 and all(0 < share <= 1 for share in found.carriers[-1].left.values())


def test_a_tagger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="classifies"):
        find_concept(build_model(tmp_path, **CONTEXT), TEXTS, ABOUT)
