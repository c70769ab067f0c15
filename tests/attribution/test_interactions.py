"""Interactions as values: a hand-computed difference of two sums, what is worth showing, the JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from splade.attribution.explanation import NO_WORD, Explanation, WordScore
from splade.attribution.interactions import Interaction, Interactions, Through, interaction
from splade.attribution.sums import WordSum

# "not very good": with all its words, without "not", and without "not" and "good".
WORDS = [WordScore("not", 0, 3, 0.8), WordScore("very", 4, 8, 0.1), WordScore("good", 9, 13, -0.2)]
WHOLE = WordSum("no", 1.2, 0.5, [0.8, 0.1, -0.2, 0.0])
WITHOUT_NOT = WordSum("yes", -2.9, 0.1, [-0.4, -2.5, -0.1])
WITHOUT_BOTH = WordSum("no", 0.5, 0.5, [0.0, 0.0])


def one(word: str = "a", *, share: float = 0.0, effect: float = 0.0, number: int = 0) -> Interaction:
    return Interaction((number,), word, 0, 1, share, effect, "no", [], effect - share)


def test_the_effect_is_the_words_own_share_and_its_changes_to_others() -> None:
    found = interaction(WORDS, WHOLE, WITHOUT_NOT, {0}, shifted=False)
    assert found.effect == pytest.approx(1.2 - -2.9) and found.share == 0.8 and found.label == "yes"
    changes = [(other.number, other.word, other.start, other.end) for other in found.through]
    assert changes == [(1, "very", 4, 8), (2, "good", 9, 13), (-1, NO_WORD, 0, 0)]
    assert [other.change for other in found.through] == pytest.approx([0.5, 2.3, 0.1])
    assert [other.share for other in found.through] == [0.1, -0.2, 0.0]
    assert found.bias == pytest.approx(0.4) and found.check() < 1e-12
    assert replace(found, effect=4.0).check() == pytest.approx(0.1)


def test_several_words_go_as_one() -> None:
    found = interaction(WORDS, WHOLE, WITHOUT_BOTH, {2, 0}, shifted=False)
    assert (found.numbers, found.text, found.start, found.end) == ((0, 2), "not … good", 0, 13)
    assert found.share == pytest.approx(0.6) and found.effect == pytest.approx(0.7) and found.check() < 1e-12
    assert [(other.word, other.change) for other in found.through] == [("very", 0.1)]  # nothing changed at no word
    assert interaction(WORDS, WHOLE, WITHOUT_BOTH, {1, 2}, shifted=False).text == "very good"


def test_what_matters_is_shown_the_largest_effect_first() -> None:
    loud, silent = one("loud", share=1.0, effect=0.9, number=0), one("silent", effect=-2.0, number=1)
    small, asked = one("small", share=0.05, effect=0.05, number=2), one("asked", effect=0.01, number=3)
    found = Interactions("no", "no", [loud, silent, small, asked], [asked])
    assert [each.text for each in found.shown()] == ["asked", "silent", "loud"]
    assert [each.text for each in replace(found, every=True).shown()] == ["asked", "silent", "loud", "small"]
    assert found.largest == 2.0
    assert Interactions("no", "no", [one()]).shown() == [] and Interactions("no", "no", []).check() == 0.0


def test_json_has_all_that_was_measured() -> None:
    both = replace(interaction(WORDS, WHOLE, WITHOUT_BOTH, {0, 2}, shifted=True), together=-0.5)
    single = interaction(WORDS, WHOLE, WITHOUT_NOT, {0}, shifted=False)
    found = Interactions("no", "no", [single], [single, both], left_out=3, not_found=["bad"])
    written = json.loads(json.dumps(found.to_json()))
    assert list(written) == ["deleted", "left_out", "not_found"]
    assert (written["left_out"], written["not_found"]) == (3, ["bad"])
    first, second = written["deleted"]  # a word that was asked for stands there once
    keys = ["words", "text", "start", "end", "share", "effect", "label", "through", "bias", "shifted"]
    assert list(first) == keys and list(second) == [*keys, "together"]
    assert list(first["through"][0]) == ["number", "word", "start", "end", "share", "change"]
    total = first["share"] + first["bias"] + sum(other["change"] for other in first["through"])
    assert total == pytest.approx(first["effect"]) and second["shifted"] and second["together"] == -0.5


def test_an_explanation_has_them_only_where_they_were_asked_for() -> None:
    plain = Explanation("a", "no", "no", {"no": 1.0}, {"no": 1.0}, 1.0, [], [WordScore("a", 0, 1, 0.0)])
    assert "interactions" not in plain.to_json()
    with_them = replace(plain, interactions=Interactions("no", "no", []))
    assert with_them.to_json() == plain.to_json() | {"interactions": Interactions("no", "no", []).to_json()}


def test_a_change_is_of_the_share_in_the_text() -> None:
    other = Through(0, "good", 0, 4, 0.13, 3.77)
    assert other.share - other.change == pytest.approx(-3.64)  # what it says without the word deleted
