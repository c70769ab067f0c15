"""Damaged and edited model folders: loading refuses, or every prediction and explanation is what it was."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from splade import explain_batch, explain_tags_batch, predict_batch, tag_batch
from splade.models.lexical_sae import LexicalSAE
from tests.campaign.case import Trial
from tests.campaign.verdicts import expect
from tests.campaign.workshop import CLASSIFIERS, TAGGER, Workshop, load, reviews, sentences

NAMES = (*CLASSIFIERS, TAGGER)
Place = tuple[str | int, ...]


def draw(rng: Random, workshop: Workshop) -> Trial:
    """One field of one JSON file changed, mostly; else a file damaged as disks and people damage files."""
    name = rng.choice(NAMES)
    source = workshop.model(name)
    files = sorted(path.name for path in source.iterdir())
    if rng.random() < 0.65:
        file = rng.choice(
            [each for each in files if each.endswith(".json") for _ in range(3 if "lexical" in each else 1)]
        )
        description, damage = _edit(rng, json.loads((source / file).read_text(encoding="utf-8")), file)
    else:
        file, how = rng.choice(files), rng.choice(list(DAMAGES))
        other = workshop.model(rng.choice([each for each in NAMES if each != name]))
        description = f"{file}: {how}"
        seed = rng.random()
        damage = lambda folder: DAMAGES[how](Random(seed), folder / file, other)  # noqa: E731

    def check(folder: Path) -> None:
        copy = folder / "model"
        shutil.copytree(source, copy)
        damage(copy)
        answers = _answers(LexicalSAE.from_pretrained(copy))
        expected = _expected(source)
        different = [
            kind
            for kind, one, other in zip(("prediction", "explanation"), answers, expected, strict=True)
            if one != other
        ]
        expect(not different, f"{' and '.join(different)} changed without a word: {description}")

    return Trial(f"{name}, {description}", check)


@cache
def _expected(folder: Path) -> tuple[list[Any], list[Any]]:
    return _answers(load(folder))


def _answers(model: LexicalSAE) -> tuple[list[Any], list[Any]]:
    """Predictions of ten texts to the last bit, and the explanations of three."""
    if model.task == "tagging":
        tagged = [one.to_json() for one in tag_batch(model, sentences())]
        return tagged, [one.to_json() for one in explain_tags_batch(model, sentences(3), word=0)]
    return predict_batch(model, reviews()), [one.to_json() for one in explain_batch(model, reviews(3))]


def _edit(rng: Random, content: Any, file: str) -> tuple[str, Callable[[Path], None]]:
    """A change of one field."""
    places = list(_places(content))
    if file == "tokenizer.json":  # thousands of entries of one kind: each kind is as interesting as the other
        places = [place for place in places if len(place) < 4] + rng.sample(places, min(20, len(places)))
    place = rng.choice(places)
    how = rng.choice(list(EDITS))
    shown = ".".join(map(str, place))
    parent = content
    for key in place[:-1]:
        parent = parent[key]
    EDITS[how](rng, parent, place[-1])
    text = json.dumps(content, ensure_ascii=False)
    return f"{file}: {shown[:60]} {how}", lambda folder: void((folder / file).write_text(text, encoding="utf-8"))


def _places(content: Any, above: Place = ()) -> Iterator[Place]:
    """Every field, by the way to it."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from _places(value, (*above, key))


def _swap(rng: Random, parent: Any, key: Any) -> None:
    """With a neighbour of the same kind, if there is one: labels, tokens, sizes."""
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    alike = [other for other in keys if other != key and type(parent[other]) is type(parent[key])] or [key]
    other = rng.choice(alike)
    parent[key], parent[other] = parent[other], parent[key]


def _double(rng: Random, parent: Any, key: Any) -> None:
    value = parent[key]
    if isinstance(value, list) and value:
        value.append(value[0])
    elif isinstance(parent, list):
        parent.insert(key, value)
    else:
        parent[f"{key}_2"] = value


def _nudge(rng: Random, parent: Any, key: Any) -> None:
    """A value as near as a slip of the hand: plausible, and wrong."""
    value = parent[key]
    if isinstance(value, bool):
        parent[key] = not value
    elif isinstance(value, int):
        parent[key] = value + rng.choice([-1, 1])
    elif isinstance(value, float):
        parent[key] = value * 2 or 0.5
    elif isinstance(value, str):
        parent[key] = rng.choice([value.upper(), value + "x", value[::-1], value[:-1]])
    else:
        parent[key] = [] if isinstance(value, list) else {}


def _put(value: object) -> Callable[[Random, Any, Any], None]:
    def put(rng: Random, parent: Any, key: Any) -> None:
        parent[key] = value

    return put


EDITS: dict[str, Callable[[Random, Any, Any], None]] = {
    "removed": lambda rng, parent, key: parent.pop(key),
    "swapped": _swap,
    "doubled": _double,
    "nudged": _nudge,
    "nudged again": _nudge,
    "is null": _put(None),
    "is a text": _put("nonsense"),
    "is a list": _put(["nonsense"]),
    "is negative": _put(-1),
    "is zero": _put(0),
    "is huge": _put(10**18),
    "is a fraction": _put(0.5),
    "is true": _put(True),
}


def _flip(rng: Random, file: Path, other: Path) -> None:
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def _cut(rng: Random, file: Path, other: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: rng.randrange(len(content))])


def _swap_files(rng: Random, file: Path, other: Path) -> None:
    beside = rng.choice([each for each in sorted(file.parent.iterdir()) if each != file])
    aside = file.with_name("aside")
    os.rename(file, aside)
    os.rename(beside, file)
    os.rename(aside, beside)


def _folder(rng: Random, file: Path, other: Path) -> None:
    file.unlink()
    file.mkdir()


def _loop(rng: Random, file: Path, other: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def void(_: object) -> None:
    """For the value of what is done for its effect."""


DAMAGES: dict[str, Callable[[Random, Path, Path], None]] = {
    "removed": lambda rng, file, other: file.unlink(),
    "emptied": lambda rng, file, other: void(file.write_bytes(b"")),
    "cut short": _cut,
    "a bit flipped": _flip,
    "another bit flipped": _flip,
    "swapped with its neighbour": _swap_files,
    "of another model": lambda rng, file, other: void(shutil.copy(other / file.name, file)),
    "a folder": _folder,
    "a link to itself": _loop,
    "zeros": lambda rng, file, other: void(file.write_bytes(bytes(file.stat().st_size))),
    "bytes more": lambda rng, file, other: void(file.write_bytes(file.read_bytes() + b"\0more")),
}
