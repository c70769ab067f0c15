from __future__ import annotations

import errno
import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from splade.config.schema import DataConfig
from splade.data.files import read_columns, read_table
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
        assert "is not a whole gzip file; fetch or pack it again" in sentence(damaged)
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


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[" * 10_000 + "]" * 10_000, "nested too deep"),
        ('{"label": ' + "9" * 5_000 + "}", "a number of thousands of digits"),
        ('{"a": 1', "Expecting"),
    ],
)
def test_json_beyond_all_bounds(tmp_path: Path, line: str, reason: str) -> None:
    assert f"is not valid JSON at line 2 ({reason}" in sentence(write(tmp_path / "a.jsonl", f"{{}}\n{line}\n"))


def test_half_a_surrogate_pair_in_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"a\\ud800": 1, "b": 2}\n')
    assert read_columns(path) == {"a?": [1], "b": [2]}
    assert "names a column twice ('a?')" in sentence(write(path, '{"a\\ud800": 1, "a?": 2}\n'))


def test_parquet_columns_that_cannot_be_read(tmp_path: Path) -> None:
    latin = pyarrow.array([b"\xe9t\xe9"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"text": latin}), tmp_path / "a.parquet")
    assert "has values in column 'text' that cannot be read" in sentence(tmp_path / "a.parquet")
    damaged = (tmp_path / "a.parquet").read_bytes().replace(b"\x04text", b"\x04te\xd3t")
    assert "is not a whole Parquet file" in sentence(write(tmp_path / "b.parquet", damaged))
    both = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    pyarrow.parquet.write_table(both, tmp_path / "a.parquet")
    assert "names a column twice" in sentence(tmp_path / "a.parquet")


def test_settings_say_how_a_file_is_written(tmp_path: Path) -> None:
    config = DataConfig(encoding="cp1252", delimiter="~")
    for name in ("a.csv", "a.csv.gz"):
        path = write(tmp_path / name, "text~label\nété~1\n".encode("cp1252"))
        assert read_columns(path, "classification", config) == {"text": ["été"], "label": ["1"]}
    table = read_table(write(tmp_path / "b.jsonl", '{"text": "été"}'.encode("cp1252")), "classification", config)
    assert table.columns == {"text": ["été"]}
    words = write(tmp_path / "b.conll", "été O\n".encode("cp1252"))
    assert read_columns(words, "tagging", config)["tokens"] == [["été"]]


def test_what_was_decided_is_said(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv", "text;label\na;1\n"))
    assert table.notes == (f"{tmp_path / 'a.csv'}: semicolons part the fields (data.delimiter can say otherwise).",)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert "cannot be read (Too many levels of symbolic links)" in sentence(tmp_path / "loop.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nothing.csv")
    assert "is a link to a file that is not there" in sentence(tmp_path / "gone.csv")
    assert "is a folder, where a file of texts was expected" in sentence(tmp_path)
    assert "cannot be read (Not a directory)" in sentence(write(tmp_path / "a.csv", CSV) / "b.csv")
    assert "cannot be read (File name too long)" in sentence(tmp_path / ("x" * 300 + ".csv"))


def test_a_folder_nobody_may_look_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert "cannot be read (Permission denied)" in sentence(tmp_path / "a.csv")


def test_an_empty_file_has_no_columns(tmp_path: Path) -> None:
    assert read_columns(write(tmp_path / "a.csv", "")) == {}
