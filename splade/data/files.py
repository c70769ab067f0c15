"""Reading CSV, TSV, JSON Lines, column files (each also gzip-compressed) and Parquet into tables."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from splade.config.schema import DataConfig, Task
from splade.data.conll import read_conll
from splade.data.delimited import read_delimited
from splade.data.encoding import clean_text, decode
from splade.data.quoting import lines_of
from splade.data.records import read_jsonl, read_parquet
from splade.data.types import Columns, Source, Table
from splade.errors import DataError, OtherTaskError, nearest
from splade.registry import Registry
from splade.task_description import CLASSIFICATION, TAGGING
from splade.utils.reading import read_bytes

Content = TypeVar("Content")
Reader = Callable[[str, Path, DataConfig], "tuple[Columns, list[str]]"]
"""From a file's text to its columns, and sentences about what was decided."""

text_formats: Registry[Reader] = Registry("file format")
tag_formats: Registry[Reader] = Registry("file format")
FORMATS: dict[str, Registry[Reader]] = {CLASSIFICATION.name: text_formats, TAGGING.name: tag_formats}
"""The formats of each task, beside Parquet, by how a file's name ends."""


def files_source(config: DataConfig, task: Task) -> Source:
    """The user's own files; the set is called after the training file."""
    given = {"train": config.train_file, "validation": config.validation_file, "test": config.test_file}
    paths = {part: Path(path) for part, path in given.items() if path is not None}
    return Source(
        name=paths["train"].name.split(".")[0],
        description=f"Own files: {', '.join(path.name for path in paths.values())}.",
        splits={part: partial(read_table, path, task, config) for part, path in paths.items()},
    )


def read_columns(path: Path, task: Task = "classification", config: DataConfig | None = None) -> Columns:
    """The columns of one file; see ``read_table``."""
    return read_table(path, task, config).columns


def read_table(path: Path, task: Task = "classification", config: DataConfig | None = None) -> Table:
    """Read one file; whatever is wrong with it ends in a ``DataError`` that names it.

    Settings say which encoding and delimiter it has, and of a column file, which has several that only they can tell
    apart, the columns.
    """
    config = config or DataConfig()
    kind, _ = _kind(path)
    formats = FORMATS[task]
    known = ", ".join(f".{name}" for name in sorted(formats.names()))
    content = _read(path)
    if kind == "parquet":
        return Table(read_parquet(path, content), str(path))
    if kind not in formats.names():
        if kind in _all_formats() and kind != "txt":  # what is called .txt may be anything
            raise OtherTaskError(
                f"The file {path} ends in .{kind}, which {task} does not read",
                f"convert it, or change task ({task} reads {known} and .parquet)",
            )
        raise DataError(f"The file {path} ends in none of {known} (each also .gz) or .parquet; convert or rename it.")
    text, odd = decode(content, path, config.encoding)
    columns, notes = formats.get(kind)(text, path, config)
    return Table(columns, str(path), (*odd, *notes))


def has_columns(path: Path) -> bool:
    """Whether a file's name says that it holds rows of fields; what is called .txt may be anything."""
    kind, _ = _kind(path)
    return kind in {*_all_formats(), "json", "parquet"} - {"txt"}


def _all_formats() -> set[str]:
    return {name for formats in FORMATS.values() for name in formats.names()}


def read_file(path: Path, read: Callable[[IO[str], Path], Content], encoding: str | None = None) -> Content:
    """What ``read`` makes of a file's text; the file may be gzip-compressed."""
    text, _ = decode(_read(path), path, encoding)
    return read(io.StringIO(text, newline=""), path)


def _read(path: Path) -> bytes:
    """The bytes of a file, unpacked."""
    try:
        content = read_bytes(path)
        return gzip.decompress(content) if _kind(path)[1] else content
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            f"The file {path} is not a whole gzip file; fetch or pack it again, or, if it is not packed, rename it."
        ) from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, where a file of texts was expected; name a file in it.") from None
    except FileNotFoundError:
        raise _not_there(path) from None
    except OSError as error:
        raise DataError(
            f"The file {clean_text(str(path))} cannot be read ({error.strerror or error}); check it and its rights."
        ) from None


def _not_there(path: Path) -> DataError:
    if path.is_symlink():
        return DataError(f"{path} is a link to a file that is not there; correct the link or name another file.")
    try:
        siblings = [sibling.name for sibling in path.parent.iterdir()]
    except OSError:
        siblings = []
    return DataError(f"There is no file {path}; check the path.{nearest(path.name, siblings)}")


def _kind(path: Path) -> tuple[str, bool]:
    """The format that a file's name ends in, and whether it is gzip-compressed."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    packed = suffixes[-1:] == ["gz"]
    return next(iter(suffixes[-2:-1] if packed else suffixes[-1:]), ""), packed


@text_formats.register("csv")
def _csv(text: str, path: Path, config: DataConfig) -> tuple[Columns, list[str]]:
    return read_delimited(text, path, "csv", config.delimiter)


@text_formats.register("tsv")
def _tsv(text: str, path: Path, config: DataConfig) -> tuple[Columns, list[str]]:
    return read_delimited(text, path, "tsv", config.delimiter)


@tag_formats.register("jsonl")
@text_formats.register("jsonl")
def _jsonl(text: str, path: Path, config: DataConfig) -> tuple[Columns, list[str]]:
    return read_jsonl(lines_of(text), path), []


@tag_formats.register("conll")
@tag_formats.register("bio")
@tag_formats.register("iob")
@tag_formats.register("txt")
@tag_formats.register("tsv")
def _column_file(text: str, path: Path, config: DataConfig) -> tuple[Columns, list[str]]:
    return read_conll(lines_of(text), path, config.tokens_column, config.tags_column), []
