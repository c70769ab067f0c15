"""Column files and JSON Lines of tagged sentences."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from splade.data.types import TaggedSplit
from splade.errors import LexicalSAEError
from tests.builders import TAGS, tagged_sentences
from tests.campaign.case import Trial
from tests.campaign.reading import read
from tests.campaign.verdicts import Wrong, expect, must_refuse

#: Words that a column file can hold: anything without blanks.
ODD_WORDS = [
    *("漢字", "é", "👍🏽", '"', "''", "#", "-", "a,b", "co-op", "1", "O", "B-PER", "-DOC-"),
    *("\u200b", "\u00a0", "x" * 300),
]

#: What is done to the lines of a good column file, and whether it must be read (`None`: exactly, or refused).
LINES = {
    "as it should be": True,
    "tabs": True,
    "line ends of Windows": True,
    "blank lines at both ends": True,
    "no line end at the end": True,
    "documents": True,
    "a middle column": True,
    "a tag missing": False,
    "a word missing": False,
    "a column more": False,
    "a tag of no scheme": False,
    "no tags": False,
    "commas": False,
    "trailing spaces": True,
    "comments": None,
    "spaces on blank lines": None,
    "cut short": None,
}


def draw_tagged(rng: Random) -> Trial:
    sentences, numbers = tagged_sentences(rng.randint(8, 24), rng.randrange(10_000))
    for sentence in sentences:
        if rng.random() < 0.3:
            sentence[0] = rng.choice(ODD_WORDS)
    tags = [[TAGS[number] for number in each] for each in numbers]
    if rng.random() < 0.2:
        return Trial("tagged JSON Lines", lambda folder: _check_jsonl(sentences, tags, folder))
    how, ending = rng.choice(list(LINES)), rng.choice(["conll", "bio", "txt", "tsv", "iob"])
    content = _columns(rng, sentences, tags, how)
    return Trial(
        f".{ending} of {len(sentences)} sentences, {how}",
        lambda folder: _check(content, how, ending, sentences, tags, folder),
    )


def _columns(rng: Random, sentences: list[list[str]], tags: list[list[str]], how: str) -> bytes:
    separator = "\t" if how == "tabs" else ("," if how == "commas" else " ")
    middle = [f"{separator}NN"] if how == "a middle column" else [""]
    lines = []
    for words, own in zip(sentences, tags, strict=True):
        lines += [f"{word}{middle[0]}{separator}{tag}" for word, tag in zip(words, own, strict=True)] + [""]
    filled = [number for number, line in enumerate(lines) if line]
    victim = rng.choice(filled)
    word, _, tag = lines[victim].partition(separator)
    match how:
        case "documents":
            lines = ["-DOCSTART- O", "", *lines]
        case "blank lines at both ends":
            lines = ["", "", *lines, "", ""]
        case "a tag missing":
            lines[victim] = word
        case "a word missing":
            lines[victim] = f"\t{tag}"
        case "a column more":
            lines[victim] += f"{separator}more"
        case "a tag of no scheme":
            lines[victim] = f"{word}{separator}PERSON"
        case "no tags":
            lines = [line.partition(separator)[0] for line in lines]
        case "trailing spaces":
            lines = [f"{line}  " if line else line for line in lines]
        case "comments":
            lines = ["# sent_id = 1", *lines]
        case "spaces on blank lines":
            lines = [line or "  " for line in lines]
        case "cut short":
            lines = lines[: victim + 1]
    end = "\r\n" if how == "line ends of Windows" else "\n"
    text = end.join(lines) + ("" if how in ("no line end at the end", "cut short") else end)
    return text.rstrip("\n").encode() if how == "no line end at the end" else text.encode()


def _check(
    content: bytes, how: str, ending: str, sentences: list[list[str]], tags: list[list[str]], folder: Path
) -> None:
    path = folder / f"own.{ending}"
    path.write_bytes(content)
    if LINES[how] is False:
        must_refuse(lambda: read(path, task="tagging"), f"a column file with {how}")
    try:
        found = read(path, task="tagging")
    except LexicalSAEError as error:
        if LINES[how]:
            raise Wrong(f"refused a good file: {error}") from error
        raise
    _compare(found.train, found.label_names, sentences, tags, cut=how == "cut short")


def _check_jsonl(sentences: list[list[str]], tags: list[list[str]], folder: Path) -> None:
    rows = [{"tokens": words, "tags": own} for words, own in zip(sentences, tags, strict=True)]
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read(path, task="tagging")
    _compare(found.train, found.label_names, sentences, tags)


def _compare(
    split: object, names: list[str], sentences: list[list[str]], tags: list[list[str]], cut: bool = False
) -> None:
    """Every word and every tag; of a file that was cut at a line's end, those before the cut."""
    assert isinstance(split, TaggedSplit)
    words = [word for sentence in split.sentences for word in sentence]
    found = [names[number] for each in split.tags for number in each]
    written, expected = [word for sentence in sentences for word in sentence], [tag for each in tags for tag in each]
    if cut:
        written, expected = written[: len(words)], expected[: len(found)]
    else:
        expect(len(split) == len(sentences), f"{len(sentences)} sentences were written and {len(split)} read")
    expect(words == written, "other words were read than written")
    expect(found == expected, "other tags were read than written")
