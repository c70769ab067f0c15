"""Paths that are odd themselves: folders, loops, devices, nothing at all; and labels of two kinds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from splade.errors import LexicalSAEError
from tests.campaign.case import Trial
from tests.campaign.reading import read
from tests.campaign.verdicts import Wrong, expect, must_accept, must_refuse
from tests.campaign.workshop import Workshop
from tests.runs import write_csv

ROWS = [f"{adjective} film" for adjective in ("good", "bad") * 8], ["negative", "positive"] * 8


def draw_odd_file(rng: Random, workshop: Workshop) -> Trial:
    name = rng.choice(list(ODD))
    return Trial(name, lambda folder: ODD[name](rng, folder))


def _good(folder: Path, name: str = "good.csv") -> Path:
    return write_csv(folder / name, *ROWS)


def _refuse(path: Path | str, why: str, settings: tuple[str, ...] = ()) -> None:
    try:
        must_refuse(lambda: read(path, settings), why)
    except LexicalSAEError as error:
        name = os.path.basename(str(path))
        if name and f"mean '{name}'" in str(error):
            raise Wrong(f"proposes what was given: {error}") from error
        raise


def _accept(path: Path, what: str, settings: tuple[str, ...] = ()) -> None:
    def check() -> None:
        expect(read(path, settings).train.texts == ROWS[0], "other texts were read")

    must_accept(check, what)


def _link(folder: Path, name: str, target: str) -> Path:
    (folder / name).symlink_to(target)
    return folder / name


def _content(content: bytes) -> Callable[[Random, Path], None]:
    def check(rng: Random, folder: Path) -> None:
        path = folder / f"own.{rng.choice(['csv', 'tsv', 'jsonl', 'parquet', 'csv.gz', 'jsonl.gz'])}"
        path.write_bytes(content)
        _refuse(path, f"a file of {content[:30]!r}")

    return check


def _numbers_for_names(rng: Random, folder: Path) -> None:
    """Names in training, numbers in the test: nothing says what the numbers mean, unless `data.labels` does."""
    order = rng.sample(["negative", "positive"], 2)
    train, told = _good(folder), rng.random() < 0.5
    test = write_csv(folder / "numbers.csv", ROWS[0], [order.index(label) for label in ROWS[1]])
    if not told:
        must_refuse(lambda: read(train, test=test), "numbers for names")
    found = read(train, (f"data.labels={json.dumps(order)}",), test=test)
    names = [found.label_names[label] for label in found.test.labels]  # type: ignore[union-attr]
    expect(names == ROWS[1], f"the numbers of data.labels {order} were read otherwise")


def _empty_setting(rng: Random, folder: Path) -> None:
    """An unset variable of the shell: `--set data.train_file=$FILE`."""
    from splade.config.load import load_config

    key = rng.choice(
        [
            "data.train_file",
            "data.test_file",
            "data.validation_file",
            "data.root",
            "output_dir",
            "model.name",
            "model.dictionary_file",
            "evaluation.lexicon",
        ]
    )
    given = [f"data.train_file={_good(folder)}"] if key != "data.train_file" else []
    must_refuse(lambda: load_config(None, [*given, f"{key}="]), f"an empty {key}")


def _odd_name(rng: Random, folder: Path) -> None:
    name = rng.choice(
        [
            "a b.csv",
            "ä 漢.csv",
            "-x.csv",
            "a'b\".csv",
            "%s{}.csv",
            "a.b.c.csv",
            ".csv.csv",
            "A.CSV",
            "x#y?.csv",
            "new\nline.csv",
        ]
    )
    _accept(_good(folder, name), f"a file called {name!r}")


def _missing(rng: Random, folder: Path) -> None:
    _good(folder)
    name = rng.choice(
        ["goood.csv", "none.csv", "x" * 300 + ".csv", "none/none.csv", "good.csv/below.csv", "a\0b.csv", "~none/x.csv"]
    )
    _refuse(folder / name, "a file that is not there")


ODD: dict[str, Callable[[Random, Path], None]] = {
    "a folder": lambda rng, folder: _refuse((folder / "own.csv").mkdir() or folder / "own.csv", "a folder"),
    "a symlink loop": lambda rng, folder: _refuse(_link(folder, "loop.csv", "loop.csv"), "a loop"),
    "two links in a loop": lambda rng, folder: _refuse(
        _link(folder, "a.csv", _link(folder, "b.csv", "a.csv").name), "a loop"
    ),
    "a broken link": lambda rng, folder: _refuse(_link(folder, "own.csv", "nowhere.csv"), "a broken link"),
    "a link": lambda rng, folder: _accept(_link(folder, "own.csv", _good(folder).name), "a link to a good file"),
    "no bytes": _content(b""),
    "blank lines": _content(b"\n\n\n"),
    "a header alone": _content(b"text,label\n"),
    "zeros": _content(bytes(1000)),
    "noise": _content(bytes(range(256)) * 8),
    "a picture": _content(b"\x89PNG\r\n\x1a\n" + bytes(range(200))),
    "a page": _content(b"<!DOCTYPE html><html><body>404</body></html>"),
    "a device": lambda rng, folder: _refuse(
        rng.choice(["/dev/null", "/proc/self/mem", "/proc", "/dev/full"]), "a device"
    ),
    "numbers for names": _numbers_for_names,
    "an empty setting": _empty_setting,
    "an odd name": _odd_name,
    "a missing file": _missing,
}
