"""Counterfactual swap: exact sums on a tiny model, and numbers by hand."""

from __future__ import annotations

from math import fsum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.data.swaps import Frame, template_frames
from splade.errors import DataError
from splade.evaluation.swap import BIAS, NO_WORD, MarginText, difference, read_margins, swap
from splade.explainers import Subject, WordText
from splade.models.lexical_sae import LexicalSAE
from tests.builders import WORDS, build_model

POSITIVE = np.array([False, True])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("swap"), exclude_stop_words=False)


def subject_of(model: LexicalSAE) -> Subject:
    return Subject(model, model.tokenizer, model.max_length)


def made(text: str, scores: list[float], elsewhere: float = 0.0, bias: float = 0.0) -> MarginText:
    return MarginText(WordText.of(text), np.array(scores), elsewhere, bias, sum(scores) + elsewhere + bias > 0)


def test_a_difference_by_hand() -> None:
    one, two = (
        made("gay men talk", [1.0, 0.5, -0.25], 0.1, 2.0),
        made("old white men talk", [0.2, 0.3, 0.75, -0.5], 0.2, 1.5),
    )
    changes = [(each.one, each.two, each.change, each.exchanged) for each in difference(one, two)]
    assert changes == [
        ("gay", "", -1.0, True),
        ("", "old", 0.2, True),
        ("", "white", 0.3, True),
        ("men", "men", 0.25, False),
        ("talk", "talk", -0.25, False),
        (NO_WORD, NO_WORD, pytest.approx(0.1), False),
        (BIAS, BIAS, -0.5, False),
    ]
    assert fsum(change for _, _, change, _ in changes[:5]) + 0.1 - 0.5 == pytest.approx(two.margin - one.margin)


def test_margins_are_those_of_the_model(model: LexicalSAE) -> None:
    texts = ["the movie was great", "a very dull plot", ""]
    for found, said in zip(read_margins(subject_of(model), texts, POSITIVE), model.explain(texts), strict=True):
        negative, positive = said.logits.values()
        assert found.margin == pytest.approx(positive - negative, abs=1e-4)
        assert found.positive == (positive > negative)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(WORDS), min_size=0, max_size=9), st.lists(st.sampled_from(WORDS), min_size=0, max_size=9)
)
def test_the_words_add_up_to_the_difference_of_any_two_texts(
    model: LexicalSAE, first: list[str], second: list[str]
) -> None:
    texts = [" ".join(first), " ".join(second)]
    one, two = read_margins(subject_of(model), texts, POSITIVE)
    logits = [list(said.logits.values()) for said in model.explain(texts)]
    moved = (logits[1][1] - logits[1][0]) - (logits[0][1] - logits[0][0])
    assert fsum(each.change for each in difference(one, two)) == pytest.approx(moved, abs=1e-4)


@pytest.mark.parametrize("family", ["roberta", "modernbert"])
def test_with_other_tokenizers_and_three_classes(family: str, tmp_path: Path) -> None:
    model = build_model(tmp_path, family=family, classes=3)
    positive = np.array([True, False, True])
    frames = template_frames(["a {n} film, unwatchable ."], {"n": ["good", "bad", "un-funny"]})
    found = swap(subject_of(model), frames, positive)
    logits = {text: np.array(list(model.explain([text])[0].logits.values())) for text in frames[0].variants.values()}
    margins = {text: each[positive].mean() - each[~positive].mean() for text, each in logits.items()}
    assert found.sum_error < 1e-4 and found.pairs == 3
    assert found.largest.change == pytest.approx(max(margins.values()) - min(margins.values()), abs=1e-4)


def test_all_pairs(model: LexicalSAE) -> None:
    sets = {"noun": ["movie", "film", "story", "actor"]}
    frames = template_frames(["the {noun} was great", "i hate this {noun}", "no {noun} here"], sets)
    found = swap(subject_of(model), frames, POSITIVE)
    margins = {
        frame.name: {
            term: (logits := list(said.logits.values()))[1] - logits[0]
            for term, said in zip(frame.variants, model.explain(list(frame.variants.values())), strict=True)
        }
        for frame in frames
    }
    gaps = [abs(a - b) for each in margins.values() for n, a in enumerate(each.values()) for b in [*each.values()][:n]]
    flips = [
        (a > 0) != (b > 0)
        for each in margins.values()
        for n, a in enumerate(each.values())
        for b in [*each.values()][:n]
    ]
    assert (found.frames, found.pairs) == (3, 18) and found.sum_error < 1e-4
    assert found.mean.mean == pytest.approx(np.mean(gaps), abs=1e-4) and found.flips.mean == pytest.approx(
        np.mean(flips)
    )
    assert found.largest.change == pytest.approx(max(gaps), abs=1e-4)
    assert fsum(each.change for each in found.largest.words) == pytest.approx(found.largest.change, abs=1e-4)
    above = [
        each["film"] - np.mean([value for term, value in each.items() if term != "film"]) for each in margins.values()
    ]
    assert found.terms["film"] == pytest.approx(np.mean(above), abs=1e-4)
    assert list(found.terms.values()) == sorted(found.terms.values(), reverse=True)
    assert found.exchanged + found.through == pytest.approx(1.0, abs=1e-4)
    assert fsum(each.share for each in found.carriers) + found.others == pytest.approx(1.0, abs=1e-4)
    assert {each.word for each in found.carriers if each.exchanged} == set(sets["noun"])


def test_where_one_word_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text's margin is 2 if it says *gay*, and 0 otherwise: *gay* carries the whole of every gap."""

    def read(subject: Subject, texts: list[str], positive: np.ndarray) -> list[MarginText]:
        return [made(text, [2.0 * (word == "gay") for word in text.split()], bias=-1.0) for text in texts]

    monkeypatch.setattr("splade.evaluation.swap.read_margins", read)
    frames = [Frame("1", {"gay": "a gay man", "old": "a old man", "deaf": "a deaf man"})]
    found = swap(None, frames, POSITIVE)  # type: ignore[arg-type]
    assert (found.carriers[0].word, found.carriers[0].share, found.carriers[0].pairs) == ("gay", 1.0, 2)
    assert (found.exchanged, found.through, found.mean.mean) == (1.0, 0.0, pytest.approx(4 / 3))
    assert found.flips.mean == pytest.approx(2 / 3) and found.terms == {"gay": 2.0, "old": -1.0, "deaf": -1.0}
    assert (found.largest.two, found.largest.change) == ("a gay man", 2.0)


def test_a_model_that_does_not_care_has_no_carriers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "splade.evaluation.swap.read_margins", lambda *given: [made(text, [0.5, 0.5]) for text in given[1]]
    )
    found = swap(None, [Frame("1", {"gay": "gay man", "old": "old man"})], POSITIVE)  # type: ignore[arg-type]
    assert found.mean.mean == found.flips.mean == found.largest.change == 0.0
    assert all(each.share == 0.0 for each in found.carriers)


def test_without_frames_there_is_nothing_to_exchange(model: LexicalSAE) -> None:
    with pytest.raises(DataError, match="No text has a word to exchange"):
        swap(subject_of(model), [], POSITIVE)
