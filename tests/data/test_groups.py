"""Identity groups from columns and from terms: overlapping, of every form that data has them in."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import numpy as np
import pytest

from splade.config.schema import DataConfig
from splade.data.groups import (
    IDENTITY_COLUMNS,
    column_groups,
    group_columns,
    parse_terms,
    term_groups,
)
from splade.data.loader import load_dataset
from splade.errors import DataError


def rows(groups: object) -> dict[str, list[int]]:
    """Numbers of the member texts, by group."""
    return {name: np.flatnonzero(inside).tolist() for name, inside in groups.members.items()}  # type: ignore[attr-defined]


def test_lists_of_names_may_overlap_and_the_largest_comes_first() -> None:
    found = column_groups({"groups": [["women", "black"], [], None, ["black"], ["black", "black"]]})
    assert rows(found) == {"black": [0, 3, 4], "women": [0]} and list(found.members) == ["black", "women"]
    assert found.source == "column groups" and found.unknown == 1


def test_what_most_annotators_said_goes_before_what_any_did() -> None:
    extra: dict[str, list[object]] = {"groups": [["a"], ["b"]], "groups_majority": [["a"], []]}
    assert rows(column_groups(extra)) == {"a": [0]}
    assert rows(column_groups(extra, ["groups"])) == {"a": [0], "b": [1]}


@pytest.mark.parametrize("parted", ["women; black", "women|black", "women, black", " women ;; black;women"])
def test_a_column_of_names_as_text(parted: str) -> None:
    found = column_groups({"about": [parted, "", "black"]}, ["about"])
    assert rows(found) == {"black": [0, 2], "women": [0]} and found.unknown == 1


def test_identity_columns_count_from_one_half_and_keep_what_nobody_was_asked_apart() -> None:
    extra: dict[str, list[object]] = {
        "female": [0.5, 0.49, None, "1.0", float("nan")],
        "muslim": [1, 0, None, "", 0.2],
        "toxicity": [0.1] * 5,
    }
    found = column_groups(extra)
    assert rows(found) == {"female": [0, 3], "muslim": [0]}
    assert found.unknown == 1 and found.source == "columns female, muslim"
    assert rows(column_groups({"black": [True, False, "true"]}, ["black"])) == {"black": [0, 2]}


def test_civil_comments_have_24_identity_columns() -> None:
    assert len(set(IDENTITY_COLUMNS)) == 24
    assert group_columns({name: [] for name in ("id", *IDENTITY_COLUMNS)}) == list(IDENTITY_COLUMNS)
    assert group_columns({"id": []}) == []


def test_terms_are_whole_words_in_any_case() -> None:
    texts = ["Gay people.", "the gayest", "a Black  woman", "blackbird", "GAY-friendly", "a black\nwoman", "nobody"]
    terms = {"gay": ["gay"], "black women": ["black woman", "black women"], "deaf": ["deaf"]}
    assert rows(term_groups(texts, terms)) == {"black women": [2, 5], "gay": [0, 4]}


def test_terms_of_a_file() -> None:
    lines = ["# mine", "", "gay: gay, gays  # both", "deaf", "gay: homosexual"]
    assert parse_terms(lines, "terms.txt") == {"gay": ["gay", "gays", "homosexual"], "deaf": ["deaf"]}


@pytest.mark.parametrize("line", ["gay, black", ": gay", "gay:", "gay: !!"])
def test_a_line_of_terms_that_is_none_is_one_sentence(line: str) -> None:
    with pytest.raises(DataError, match=r"where the name of a group|where one or more words were expected") as raised:
        parse_terms(["a: b", line], "terms.txt")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("extra", "columns", "said"),
    [
        ({"id": [1]}, None, "The data has no columns of groups .*, only: id; name its columns"),
        ({"groups": [["a"]]}, ["group"], "no column 'group' of groups, only: groups; .* Did you mean 'groups'"),
        ({"groups": [[], None]}, None, "No text is about anybody"),
        ({"female": [0.1, 0.4]}, None, "No text is about anybody"),
        ({"groups": [["a"], [3]]}, None, r"Row 2 has \[3\] in column 'groups'"),
        ({"groups": ["['a', 'b']"]}, None, "Row 1 has .* where names were expected"),
        ({"female": [0.4, 3]}, None, "Row 2 has 3 in column 'female' of groups, where a share"),
    ],
)
def test_columns_that_hold_no_groups(extra: dict[str, list[object]], columns: list[str] | None, said: str) -> None:
    with pytest.raises(DataError, match=said):
        column_groups(extra, columns)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({}, "The list of terms is empty"),
        ({"gay": []}, "The group 'gay' has the terms"),
        ({"gay": ["gay"], "deaf": ["deaf"]}, "No text has any of the 2 terms of groups"),
    ],
)
def test_terms_that_find_nothing(terms: dict[str, list[str]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        term_groups(["a film"], terms)


def test_groups_travel_with_the_texts_of_a_data_root(tmp_path: Path) -> None:
    """And change nothing about texts, labels and splits."""
    found = {}
    for name, further in (("plain", False), ("about", True)):
        folder = tmp_path / name
        folder.mkdir()
        lines: list[dict[str, object]] = [{"text": f"text {n}", "label": n % 2} for n in range(40)]
        for n, line in enumerate(lines):
            line |= {"groups": [f"g{n % 3}"], "id": n} if further else {}
        (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        found[name] = load_dataset(DataConfig(dataset_name=name, root=str(tmp_path), test_samples=3), 0)
    plain, about = found["plain"], found["about"]
    for part in ("train", "validation", "test"):
        one, other = getattr(plain, part), getattr(about, part)
        assert (one.texts, one.labels) == (other.texts, other.labels)
        assert other.extra["groups"] == [[f"g{int(text.split()[1]) % 3}"] for text in other.texts]


def test_groups_of_a_file_of_ones_own(tmp_path: Path) -> None:
    lines = "".join(f"text {n},{'bad' if n % 2 else 'good'},{'women;black' if n % 4 else ''}\n" for n in range(40))
    (tmp_path / "mine.csv").write_text(f"text,label,about\n{lines}")
    train = load_dataset(DataConfig(train_file=str(tmp_path / "mine.csv")), 0).train
    inside = column_groups(train.extra, ["about"]).members["women"]
    assert [bool(int(text.split()[1]) % 4) for text in train.texts] == inside.tolist()


def test_civil_comments_with_identities_through_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of that shape: shares of raters, null where nobody was asked."""
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)
    part: dict[str, list[object]] = {"text": ["a", "b", "c", "d"], "toxicity": [0.0, 0.6, 0.2, 0.9]}
    part |= {name: [0.0, 0.0, None, 0.0] for name in IDENTITY_COLUMNS}
    part["female"], part["black"] = [1.0, 0.5, None, 0.0], [0.0, 0.83, None, 0.4]
    served = datasets.DatasetDict(
        {split: datasets.Dataset.from_dict(part) for split in ("train", "validation", "test")}
    )
    monkeypatch.setattr(datasets, "load_dataset", lambda path, name: served)
    test = load_dataset(DataConfig(dataset_name="civilcomments"), 0).test
    found = column_groups(test.extra)
    assert test.labels == [0, 1, 0, 1] and rows(found) == {"female": [0, 1], "black": [1]} and found.unknown == 1
