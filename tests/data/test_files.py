from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from splade.data.files import read_columns
from splade.errors import DataError

TEXTS = ['one, "two"\nthree', "été\tici", ""]
LABELS = ["good", "bad", "good"]
CSV = 'text,label\n"one, ""two""\nthree",good\n"été\tici",bad\n"",good\n'
TSV = 'text\tlabel\n"one, ""two""\nthree"\tgood\n"été\tici"\tbad\n""\tgood\n'
JSONL = "".join(json.dumps({"text": t, "label": n}) + "\n" for t, n in zip(TEXTS, LABELS, strict=True))


def sentence(path: Path) -> str:
    with pytest.raises(DataError) as raised:
        read_columns(path)
    message = str(raised.value)
    assert str(path) in message and "\n" not in message
    return message


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(("kind", "content"), [("csv", CSV), ("tsv", TSV), ("jsonl", JSONL)])
def test_every_format_reads_the_same_rows(tmp_path: Path, kind: str, content: str, ending: str) -> None:
    columns = read_columns(write(tmp_path / f"my.data.{kind}{ending}", content))
    assert columns == {"text": TEXTS, "label": LABELS}


def test_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS, "label": [1, None, 0]}), tmp_path / "a.parquet")
    assert read_columns(tmp_path / "a.parquet") == {"text": TEXTS, "label": [1, None, 0]}


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path: Path) -> None:
    assert "text" in read_columns(write(tmp_path / "a.csv", b"\xef\xbb\xbftext,label\na,1\n"))


def test_long_fields_and_blank_lines(tmp_path: Path) -> None:
    book = "word " * 60_000
    assert read_columns(write(tmp_path / "a.csv", f"text,label\n{book},1\n\n"))["text"] == [book]
    assert read_columns(write(tmp_path / "a.jsonl", '\n{"text": "a"}\n\n'))["text"] == ["a"]


def test_fields_some_json_rows_leave_out_are_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": "b", "groups": ["x"]}\n{"groups": []}\n')
    assert read_columns(path) == {"text": ["a", "b", None], "groups": [None, ["x"], []]}


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    path = tmp_path / "trian.csv"
    assert sentence(path) == f"There is no file {path}; check the path. Did you mean 'train.csv'?"
    assert sentence(tmp_path / "nowhere" / "a.csv").endswith("check the path.")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz"])
def test_an_unknown_format_lists_those_known(tmp_path: Path, name: str) -> None:
    assert "ends in none of .csv, .jsonl, .tsv (each also .gz) or .parquet" in sentence(write(tmp_path / name, "x"))


def test_damaged_files(tmp_path: Path) -> None:
    whole = gzip.compress(JSONL.encode() * 50)
    damaged = tmp_path / "a.jsonl.gz"
    for content in (whole[: len(whole) // 2], b"no gzip at all", whole[:30] + b"\x00\xff" * 8 + whole[46:]):
        damaged.write_bytes(content)
        assert "is not a whole gzip file; it is damaged" in sentence(damaged)
    assert "is not a whole Parquet file" in sentence(write(tmp_path / "a.parquet", b"PAR1 nothing"))
    assert "is not UTF-8 text" in sentence(write(tmp_path / "a.csv", "text,label\nété,1\n".encode("latin-1")))


def test_broken_json_names_the_line(tmp_path: Path) -> None:
    assert "is not valid JSON at line 2" in sentence(write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": \n'))
    assert "has no JSON object at line 1" in sentence(write(tmp_path / "a.jsonl", '["a", 1]\n'))


def test_broken_rows_are_named(tmp_path: Path) -> None:
    assert "has 3 fields in row 2 (line 3), but its header names 2" in sentence(
        write(tmp_path / "a.csv", "text,label\na,1\nb,c,1\n")
    )
    assert "has a quote that opens a field in line 3 and is never closed" in sentence(
        write(tmp_path / "a.csv", 'text,label\na,b,1\n"never closed, 1\n')
    )
    assert "names a column twice" in sentence(write(tmp_path / "a.csv", "text,text\na,1\n"))


def test_an_empty_file_has_no_columns(tmp_path: Path) -> None:
    assert read_columns(write(tmp_path / "a.csv", "")) == {}
