"""Lists of removals as files: words one a line, and what the Lab saves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from splade.errors import LexicalSAEError
from splade.surgery.removal_list import read_removals


def write(folder: Path, content: str, name: str = "removals.json") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_list_of_the_lab_says_what_to_shut_and_what_to_silence(tmp_path: Path) -> None:
    listed = {"model": "m", "shut": ["wooden", 2143], "silence": ["caf\u00e9"]}
    found = read_removals(write(tmp_path, json.dumps(listed)))
    assert found.shut == ["wooden", 2143] and found.silence == ["caf\u00e9"]
    assert read_removals(write(tmp_path, '{"silence": ["film"]}')).shut == []


def test_words_one_a_line_are_shut(tmp_path: Path) -> None:
    found = read_removals(write(tmp_path, "wooden\n\n film \n", "words.txt"))
    assert found.shut == ["wooden", "film"] and found.silence == []


@pytest.mark.parametrize(
    "content, said",
    [
        ("{", "is no JSON"),
        ("[]", "is no list of removals"),
        ('{"shut": "wooden"}', "is no list of removals"),
        ('{"shut": [true]}', "is no list of removals"),
        ('{"shut": [null]}', "is no list of removals"),
        ('{"silence": [3]}', "is no list of removals"),
        ('{"shut": []}', "removes nothing"),
    ],
)
def test_another_file_is_refused_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(LexicalSAEError, match=said):
        read_removals(write(tmp_path, content))
