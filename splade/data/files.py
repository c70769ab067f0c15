"""Reading CSV, TSV, JSON Lines, column files (each also gzip-compressed) and Parquet into columns."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from splade.config.schema import DataConfig, Task
from splade.data.conll import read_conll
from splade.data.tasks import pick
from splade.data.types import Columns, RawSplit, RawTags, Source
from splade.errors import DataError, OtherTaskError, nearest
from splade.registry import Registry

Content = TypeVar("Content")

LONGEST_FIELD = 2**31 - 1  # the csv module stops at 131,072 characters by default; whole books are texts too

readers: Registry[Callable[[IO[str], Path], Columns]] = Registry("file format")
tagged_readers: Registry[Callable[[IO[str], Path], Columns]] = Registry("file format")
for ending in ("conll", "bio", "iob", "txt", "tsv"):
    tagged_readers.register(ending)(read_conll)


def files_source(config: DataConfig, task: Task) -> Source:
    """The user's own files; the set is called after the training file."""
    given = {"train": config.train_file, "validation": config.validation_file, "test": config.test_file}
    paths = {part: Path(path) for part, path in given.items() if path is not None}

    def reader(path: Path) -> Callable[[], RawSplit | RawTags]:
        return lambda: pick(read_columns(path, task, config), config, str(path), task)

    return Source(
        name=paths["train"].name.split(".")[0],
        description=f"Own files: {', '.join(path.name for path in paths.values())}.",
        splits={part: reader(path) for part, path in paths.items()},
    )


def read_columns(path: Path, task: Task = "classification", config: DataConfig | None = None) -> Columns:
    """Read one file; whatever is wrong with it ends in a ``DataError`` that names it.

    Settings are asked for the columns of a column file alone, which has several only they can tell apart.
    """
    _check_there(path)
    kind, _ = _kind(path)
    formats, others = (tagged_readers, readers) if task == "tagging" else (readers, tagged_readers)
    known = ", ".join(f".{name}" for name in formats.names())
    if kind != "parquet" and kind not in formats.names():
        if kind in others.names() and kind != "txt":  # what is called .txt may be anything
            raise OtherTaskError(
                f"The file {path} ends in .{kind}, which {task} does not read",
                f"convert it, or change task ({task} reads {known} and .parquet)",
            )
        raise DataError(f"The file {path} ends in none of {known} (each also .gz) or .parquet; convert or rename it.")
    if kind == "parquet":
        return _read_parquet(path)
    read = formats.get(kind)
    if read is read_conll and config is not None:
        read = partial(read_conll, words=config.tokens_column, tags=config.tags_column)
    return read_file(path, read)


def has_columns(path: Path) -> bool:
    """Whether a file's name says that it holds rows of fields; what is called .txt may be anything."""
    kind, _ = _kind(path)
    return kind in {*readers.names(), *tagged_readers.names(), "json", "parquet"} - {"txt"}


def read_file(path: Path, read: Callable[[IO[str], Path], Content]) -> Content:
    """What ``read`` makes of a file's text; the file may be gzip-compressed."""
    _check_there(path)
    _, packed = _kind(path)
    try:
        # utf-8-sig: spreadsheets put a byte-order mark before the first column's name.
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="") as stream:
            return read(stream, path)
    except UnicodeDecodeError:
        raise DataError(f"The file {path} is not UTF-8 text; save it as UTF-8.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            f"The file {path} is not a whole gzip file; it is damaged, so fetch or pack it again."
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _check_there(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a folder, where a file of texts was expected; name a file in it.")
    if not path.exists():  # a pipe is no file, and can be read
        siblings = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(f"There is no file {path}; check the path.{nearest(path.name, siblings)}")


def _kind(path: Path) -> tuple[str, bool]:
    """The format that a file's name ends in, and whether it is gzip-compressed."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    packed = suffixes[-1:] == ["gz"]
    return next(iter(suffixes[-2:-1] if packed else suffixes[-1:]), ""), packed


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"The file {path} cannot be read ({error.strerror or error}); check it and its rights.")


def _read_parquet(path: Path) -> Columns:
    import pyarrow.parquet  # 25 MB that a model in use does without

    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException:
        raise DataError(f"The file {path} is not a whole Parquet file; it is damaged, so fetch it again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _read_delimited(stream: IO[str], path: Path, delimiter: str) -> Columns:
    csv.field_size_limit(LONGEST_FIELD)
    rows = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        header = next(rows, [])
        if len(set(header)) < len(header):
            raise DataError(f"The file {path} names a column twice in its header; give each column its own name.")
        values: list[list[object]] = [[] for _ in header]
        for number, row in enumerate(rows, start=1):
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                raise DataError(
                    f"The file {path} has {len(row)} fields in row {number}, but its header names {len(header)}; "
                    "quote fields that hold the separator or a line break."
                )
            for column, value in zip(values, row, strict=True):
                column.append(value)
    except csv.Error as error:
        raise DataError(f"The file {path} is damaged at line {rows.line_num} ({error}); correct its quotes.") from None
    return dict(zip(header, values, strict=True))


@readers.register("csv")
def _read_csv(stream: IO[str], path: Path) -> Columns:
    return _read_delimited(stream, path, ",")


@readers.register("tsv")
def _read_tsv(stream: IO[str], path: Path) -> Columns:
    return _read_delimited(stream, path, "\t")


@tagged_readers.register("jsonl")
@readers.register("jsonl")
def _read_jsonl(stream: IO[str], path: Path) -> Columns:
    columns: Columns = {}
    count = 0
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"The file {path} is not valid JSON at line {number} ({error.msg}); correct it.") from None
        if not isinstance(row, dict):
            raise DataError(f"The file {path} has no JSON object at line {number}; write one object of fields a line.")
        for name in row:
            if name not in columns:
                columns[name] = [None] * count  # earlier rows left this field out
        for name, values in columns.items():
            values.append(row.get(name))
        count += 1
    return columns
