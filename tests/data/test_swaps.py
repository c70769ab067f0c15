"""Counterfactual texts: nothing changes but the word."""

from __future__ import annotations

import pytest

from splade.data.identity_terms import EXCHANGEABLE
from splade.data.swaps import TEMPLATES, template_frames, text_frames
from splade.errors import DataError

SETS = {"plural": ["women", "men", "old people"], "adjective": ["gay", "deaf"]}


def test_templates_take_every_word_of_their_set() -> None:
    frames = template_frames(["I like {adjective} films.", "{plural} and {plural} laugh."], SETS)
    assert frames[0].variants == {"gay": "I like gay films.", "deaf": "I like deaf films."}
    assert frames[1].variants["old people"] == "Old people and old people laugh."


def test_the_templates_that_are_here() -> None:
    frames = template_frames(TEMPLATES, EXCHANGEABLE)
    assert len(frames) == len(TEMPLATES) and all(len(frame.variants) >= 20 for frame in frames)
    assert not any("{" in text for frame in frames for text in frame.variants.values())


def test_a_word_is_exchanged_wherever_it_stands_and_written_as_it_was() -> None:
    frames, having = text_frames(["Women! WOMEN and women, but no womenfolk or gay.", "nobody"], SETS, 9, 0)
    assert having == 1 and list(frames[0].variants) == ["women", "men", "old people"]
    assert frames[0].variants["women"] == frames[0].name
    assert frames[0].variants["men"] == "Men! MEN and men, but no womenfolk or gay."
    assert frames[0].variants["old people"] == "Old people! OLD PEOPLE and old people, but no womenfolk or gay."


def test_the_first_word_of_a_text_is_exchanged_and_terms_may_be_of_several_words() -> None:
    frames, _ = text_frames(["a gay man and old  people", "old  people are gay"], SETS, 9, 0)
    assert [list(frame.variants) for frame in frames] == [["gay", "deaf"], ["old people", "women", "men"]]
    assert frames[1].variants["men"] == "men are gay"


def test_of_many_texts_some_are_drawn_always_the_same() -> None:
    texts = [f"{number} women" for number in range(50)]
    some, having = text_frames(texts, SETS, 5, 1)
    assert (len(some), having) == (5, 50) and some == text_frames(texts, SETS, 5, 1)[0]


@pytest.mark.parametrize(
    ("templates", "sets", "said"),
    [
        ([], SETS, "There are no templates"),
        (["no place"], SETS, "names 0 sets of words in braces"),
        (["{plural} {adjective}"], SETS, "names 2 sets of words"),
        (["{plurals}"], SETS, "names the set 'plurals', but there are: plural, adjective; .* Did you mean 'plural'"),
        (["{plural}"], {"plural": ["women", "Women"]}, "has the one word 'women', where two or more"),
        (["{plural}"], {}, "The list of terms is empty"),
    ],
)
def test_what_cannot_be_exchanged(templates: list[str], sets: dict[str, list[str]], said: str) -> None:
    with pytest.raises(DataError, match=said) as raised:
        template_frames(templates, sets)
    assert "\n" not in str(raised.value)
