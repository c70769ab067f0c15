"""JSON Lines and Parquet: records whose fields have types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from splade.data.column_names import column_names
from splade.data.types import Columns
from splade.errors import DataError


def read_jsonl(lines: Iterable[str], path: Path) -> Columns:
    """A JSON object a line; a field that some leave out is empty there."""
    columns: Columns = {}
    count = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = parse_json(line, f"The file {path} is not valid JSON at line {number}")
        if not isinstance(row, dict):
            raise DataError(f"The file {path} has no JSON object at line {number}; write one object of fields a line.")
        for name in row:
            if name not in columns:
                columns[name] = [None] * count  # earlier rows left this field out
        for name, values in columns.items():
            values.append(row.get(name))
        count += 1
    return dict(zip(column_names(list(columns), f"The file {path}"), columns.values(), strict=True))


def parse_json(text: str, complaint: str) -> object:
    """What JSON says; ``complaint`` is the beginning of the sentence if it says nothing."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg
    except RecursionError:
        reason = "nested too deep"
    except ValueError:
        reason = "a number of thousands of digits"
    raise DataError(f"{complaint} ({reason}); correct it.")


def read_parquet(path: Path, content: bytes) -> Columns:
    """All columns of a Parquet file."""
    import pyarrow.parquet  # 25 MB that a model in use does without

    try:
        table = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content)).read()
    except (pyarrow.ArrowException, OSError, ValueError):
        raise DataError(f"The file {path} is not a whole Parquet file; it is damaged, so fetch it again.") from None
    names = column_names(table.column_names, f"The file {path}")
    columns: Columns = {}
    for name, values in zip(names, table.columns, strict=True):
        try:
            columns[name] = values.to_pylist()
        # Strings that are no UTF-8, times outside of Python's calendar, unknown time zones: errors of several kinds.
        except (pyarrow.ArrowException, ValueError, OverflowError, LookupError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(
                f"The file {path} has values in column '{name}' that cannot be read ({reason}); correct the column or "
                "leave it out."
            ) from None
    return columns
