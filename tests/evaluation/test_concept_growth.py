"""The growth of a concept: to chance where it can be brought there, to the budget or the end where it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError
from splade.evaluation.concept_growth import Growth, grow_concept
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.concepts import Concept, find_concept
from splade.tasks import TASKS
from splade.tasks.base import Task
from tests.surgery.concept_texts import PROXY, WORD, concept_texts, plain_model

TEXTS, ABOUT = concept_texts(300, 0)
OTHERS, ABOUT_OTHERS = concept_texts(300, 1)
MANY, ABOUT_MANY = concept_texts(2000, 2, share=0.5)  # an area of one half is then known to ± 0.025


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return plain_model(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def concept(plain: LexicalSAE) -> Concept:
    return find_concept(plain, TEXTS, ABOUT, name="people")


def task_of(model: LexicalSAE, labels: list[int] | None = None, texts: list[str] = OTHERS) -> Task:
    kind: type[Task] = TASKS.get(model.task)
    if labels is None:
        return kind.from_texts(texts, model)
    return kind(TextSplit(texts, labels), model.tokenizer, model.max_length, model.labels)  # type: ignore[call-arg]


@pytest.fixture(scope="module")
def growth(plain: LexicalSAE, concept: Concept) -> Growth:
    return grow_concept(plain, concept, task_of(plain, texts=MANY), ABOUT_MANY, budget=1.0, folds=2)


def test_both_words_gone_the_code_is_at_chance_and_the_hidden_state_is_not(growth: Growth) -> None:
    assert [point.size for point in growth.points] == [0, 1, 2]
    assert (growth.chosen, growth.ended) == (2, "at chance")
    assert growth.before.sparse.linear.auroc.mean > 0.8 and growth.before.sparse.mlp.auroc.mean > 0.8
    assert growth.after.sparse.at_chance and not growth.point(1).sparse.at_chance
    assert growth.hidden.linear.found and growth.hidden.linear.auroc.mean > 0.8
    assert growth.before.change.mean == 0 and growth.before.flips == 0 and not growth.labelled
    assert growth.after.score == pytest.approx(1 - growth.after.flips / len(MANY))
    assert growth.surest_bound < 0.55


def test_where_the_words_are_not_enough_that_is_said(plain: LexicalSAE, concept: Concept) -> None:
    short = replace(concept, carriers=concept.carriers[:1])
    grown = grow_concept(plain, short, task_of(plain), ABOUT_OTHERS, budget=1.0, folds=2)
    assert (grown.chosen, grown.ended) == (1, "candidates") and not grown.after.sparse.at_chance


def test_the_budget_ends_it(plain: LexicalSAE, concept: Concept) -> None:
    """Every text is labelled as the model predicts it, so that whatever flips is wrong."""
    predicted = [plain.labels.index(answer.label) for answer in plain.predict(OTHERS)]
    grown = grow_concept(plain, concept, task_of(plain, predicted), ABOUT_OTHERS, budget=0.0, folds=2)
    assert grown.labelled and grown.before.score == 1.0 and grown.points[-1].flips
    assert grown.ended == "budget" and grown.chosen < len(concept) and grown.after.flips == 0
    assert grown.points[-1].change.mean == pytest.approx(-grown.points[-1].flips / len(OTHERS))


def test_a_class_ends_it(plain: LexicalSAE, concept: Concept) -> None:
    first, second = concept.carriers
    taken = replace(concept, carriers=(first, replace(second, left={**second.left, plain.labels[0]: 0.01})))
    assert taken.largest == 1
    grown = grow_concept(plain, taken, task_of(plain), ABOUT_OTHERS, budget=1.0, folds=2)
    assert (grown.chosen, grown.ended) == (1, "class")
    with pytest.raises(DataError, match="rests on"):
        taken.removal(plain, 2)


def test_a_group_without_texts_and_odd_numbers_are_refused(plain: LexicalSAE, concept: Concept) -> None:
    with pytest.raises(DataError, match="0 different texts with the concept"):
        grow_concept(plain, concept, task_of(plain), np.zeros(len(OTHERS), dtype=bool))
    with pytest.raises(DataError, match="give each text one"):
        grow_concept(plain, concept, task_of(plain), ABOUT_OTHERS[:-1])
    with pytest.raises(ConfigError, match="budget is 2"):
        grow_concept(plain, concept, task_of(plain), ABOUT_OTHERS, budget=2)


def test_words_are_those_planted(concept: Concept) -> None:
    assert set(concept.names()) == {WORD, PROXY}
