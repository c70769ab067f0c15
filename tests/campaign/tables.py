"""Tables and the files they are written to, by a writer that shares nothing with the program's reader."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

DELIMITERS = {"csv": ",", "tsv": "\t"}


class Expected(Enum):
    """What must become of a file."""

    READ = "it must be read exactly"
    EITHER = "it is read exactly, or refused in a sentence"
    REFUSED = "it must be refused"


@dataclass
class Table:
    """Texts and labels, and how they are to be written; quirks change it step by step."""

    format: str
    texts: list[str]
    labels: list[object]
    header: list[str] = field(default_factory=lambda: ["text", "label"])
    extra: dict[str, list[object]] = field(default_factory=dict)
    extra_first: bool = False
    delimiter: str = ","
    encoding: str = "utf-8"
    newline: str = "\n"
    quote_all: bool = False
    unquoted: bool = False
    """Write fields as they are; whoever sets it has made sure that none needs quotes."""
    packed: bool = False
    ending: str | None = None
    """Of the file's name, where it is not that of the format."""
    after: list[Callable[[bytes], bytes]] = field(default_factory=list)
    """Done to the bytes before they are packed."""
    rows: Callable[[list[list[str]]], list[list[str]]] = lambda rows: rows
    """Done to the fields of a delimited file, header and all."""
    settings: list[str] = field(default_factory=list)
    expected: Expected = Expected.READ
    noted: str | None = None
    """What a note must tell the reader if the file is read; `None`: nothing was decided."""

    def write(self, folder: Path, name: str = "own") -> Path:
        path = folder / f"{name}.{self.ending or self.format}{'.gz' if self.packed and self.ending is None else ''}"
        if self.format == "parquet":
            content = _parquet(self, folder)
        else:
            text = _jsonl(self) if self.format == "jsonl" else _delimited(self)
            content = text.encode(self.encoding, "surrogatepass" if self.encoding == "utf-8" else "strict")
        for change in self.after:
            content = change(content)
        path.write_bytes(gzip.compress(content) if self.packed else content)
        return path

    def columns(self) -> dict[str, list[object]]:
        """In the order in which they are written."""
        own: dict[str, list[object]] = {self.header[0]: list(self.texts), self.header[1]: self.labels}
        return {**self.extra, **own} if self.extra_first else {**own, **self.extra}


def _delimited(table: Table) -> str:
    columns = table.columns()
    rows = [list(columns)] + [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    written = [table.delimiter.join(_field(each, table) for each in row) for row in table.rows(rows)]
    return "".join(row + table.newline for row in written)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _field(text: str, table: Table) -> str:
    special = any(mark in text for mark in (table.delimiter, '"', "\n", "\r"))
    if table.unquoted or not (table.quote_all or special):
        return text
    return '"' + text.replace('"', '""') + '"'


def _jsonl(table: Table) -> str:
    columns = table.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    ascii_only = not table.quote_all  # the two ways there are to write a character
    return "".join(json.dumps(row, ensure_ascii=ascii_only) + table.newline for row in rows)


def _parquet(table: Table, folder: Path) -> bytes:
    import pyarrow
    import pyarrow.parquet

    aside = folder / "aside"
    pyarrow.parquet.write_table(pyarrow.table(table.columns()), aside)
    content = aside.read_bytes()
    aside.unlink()
    return content
