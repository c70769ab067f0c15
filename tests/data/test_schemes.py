from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splade.data.schemes import Tag, breaks, find_scheme, iob2_names, split_tag, to_iob2

Entities = list[tuple[str, int]]  # type ("" for none) and words of each stretch of a sentence

# Stretches outside entities part some entities, others touch, of the same type or not.
some_entities = st.lists(st.tuples(st.sampled_from(["", "PER", "LOC"]), st.integers(1, 4)), max_size=6)


def parse(line: str) -> list[Tag]:
    found = [split_tag(tag) for tag in line.split()]
    assert None not in found
    return [tag for tag in found if tag]


def write(entities: Entities, scheme: str) -> list[str]:
    """The tags of a sentence, written independently of the code under test."""
    tags: list[str] = []
    before = ""
    for kind, words in entities:
        if not kind:
            tags += ["O"] * words
        elif scheme == "IOB2":
            tags += [f"B-{kind}"] + [f"I-{kind}"] * (words - 1)
        elif scheme == "IOB1":
            tags += [f"{'B' if kind == before else 'I'}-{kind}"] + [f"I-{kind}"] * (words - 1)
        else:
            end, single = ("E", "S") if scheme == "BIOES" else ("L", "U")
            inner = [f"B-{kind}"] + [f"I-{kind}"] * (words - 2) + [f"{end}-{kind}"]
            tags += inner if words > 1 else [f"{single}-{kind}"]
        before = kind
    return tags


@given(st.sampled_from(["IOB1", "IOB2", "BIOES", "BILOU"]), some_entities)
def test_every_scheme_becomes_the_same_iob2(scheme: str, entities: Entities) -> None:
    tags = [tag for name in write(entities, scheme) if (tag := split_tag(name))]
    assert breaks(tags, scheme) == []
    assert to_iob2(tags) == write(entities, "IOB2")


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES", "BILOU"])
def test_a_scheme_is_told_by_its_tags(scheme: str) -> None:
    sentences: list[Entities] = [[("", 2), ("PER", 1), ("PER", 3), ("", 1)], [("LOC", 1), ("", 4)]]
    assert find_scheme([parse(" ".join(write(entities, scheme))) for entities in sentences]) == scheme


def test_a_few_slips_do_not_change_the_scheme() -> None:
    sentences = [parse("B-PER I-PER O B-LOC")] * 9 + [parse("O I-PER O")]
    assert find_scheme(sentences) == "IOB2"
    assert find_scheme([parse("I-PER I-PER O I-LOC")] * 9 + [parse("B-PER O")]) == "IOB1"
    assert find_scheme([parse("S-PER O B-LOC E-LOC")] * 9 + [parse("B-PER O U-LOC")]) == "BIOES"


@pytest.mark.parametrize(
    ("scheme", "tags", "wrong", "repaired"),
    [
        ("IOB2", "O I-PER I-PER", [1], "O B-PER I-PER"),  # I after O
        ("IOB2", "B-PER I-LOC", [1], "B-PER B-LOC"),  # goes on with another type
        ("IOB2", "B-PER E-PER S-PER", [1, 2], "B-PER I-PER B-PER"),  # of another scheme
        ("IOB1", "O B-PER I-PER", [1], "O B-PER I-PER"),
        ("BIOES", "O E-PER O", [1], "O B-PER O"),  # an end without a beginning
        ("BIOES", "B-PER O", [1], "B-PER O"),  # a beginning without an end
        ("BIOES", "O B-PER", [2], "O B-PER"),  # the same at the end of the sentence
        ("BIOES", "B-PER E-PER I-PER E-PER", [2], "B-PER I-PER B-PER I-PER"),
        ("BIOES", "S-PER I-PER O", [1, 2], "B-PER B-PER O"),
        ("BIOES", "B-PER L-PER", [1], "B-PER I-PER"),
        ("BILOU", "B-PER I-LOC L-LOC", [1], "B-PER B-LOC I-LOC"),
    ],
)
def test_what_breaks_a_scheme_is_found_and_repaired(scheme: str, tags: str, wrong: list[int], repaired: str) -> None:
    assert breaks(parse(tags), scheme) == wrong
    assert to_iob2(parse(tags)) == repaired.split()


@given(st.lists(st.sampled_from(["O", *(f"{a}-{b}" for a in "BIESLU" for b in "XY")]), max_size=12))
def test_what_comes_out_is_always_iob2(names: list[str]) -> None:
    tags = parse(" ".join(names))
    rewritten = to_iob2(tags)
    assert breaks(parse(" ".join(rewritten)), "IOB2") == []
    assert [name[1:] for name in rewritten] == [name[1:] for name in names]  # types stay where they are


def test_names_are_o_then_b_and_i_of_each_type() -> None:
    assert iob2_names(parse("S-PER O I-LOC")) == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def test_types_may_hold_hyphens_and_other_things_are_no_tags() -> None:
    assert split_tag("B-creative-work") == ("B", "creative-work")
    assert [split_tag(name) for name in ("PER", "B-", "b-PER", "X-PER", "", "person-actor")] == [None] * 6
