from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from splade.data.delimited import find_delimiter, read_delimited
from splade.errors import DataError

PATH = Path("a.csv")
TEXTS = ["well, this; is | it", "one\ttwo", 'he said "no"', "several\nlines, here", ""]
LABELS = ["good", "bad", "good", "bad", "good"]


def written(delimiter: str, header: tuple[str, str] = ("text", "label")) -> str:
    stream = io.StringIO()
    rows = csv.writer(stream, delimiter=delimiter)
    rows.writerows([header, *zip(TEXTS, LABELS, strict=True)])
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize(("delimiter", "name"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "pipes")])
def test_the_delimiter_is_found_and_said_if_it_is_not_the_usual(kind: str, delimiter: str, name: str) -> None:
    columns, notes = read_delimited(written(delimiter), PATH, kind)
    assert columns == {"text": TEXTS, "label": LABELS}
    usual = {"csv": ",", "tsv": "\t"}[kind]
    said = [] if delimiter == usual else [f"a.csv: {name} part the fields (data.delimiter can say otherwise)."]
    assert notes == said


def test_a_setting_goes_before_what_is_found() -> None:
    assert read_delimited("a;b,c\n1;2,3\n", PATH, "csv", ";") == ({"a": ["1"], "b,c": ["2,3"]}, [])
    assert read_delimited("a~b\n1~2\n", PATH, "csv", "~") == ({"a": ["1"], "b": ["2"]}, [])


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text\nfirst; second\nthird\n", ","),  # one column
        ("text\tlabel\nI like it, a lot\tgood\nno, not at all\tbad\n", "\t"),
        ("text;label\n1,5;2,5\n", ";"),
        ("text;label\n", ";"),
        ("name, first;label\nx, y;1\nz;2\nw;3\n", ";"),  # a comma in the header too
        ("text,label\na,1\nb;c,2\nd,e,3\n", ","),  # a row that is wrong
        ("", ","),
    ],
)
def test_other_characters_do_not_mislead(text: str, delimiter: str) -> None:
    assert find_delimiter(text, ",") == delimiter


def test_the_line_for_excel() -> None:
    assert read_delimited("sep=;\r\na;b\r\n1;2\r\n", PATH, "csv") == ({"a": ["1"], "b": ["2"]}, [])


def test_names_are_trimmed_and_columns_without_one_get_one() -> None:
    columns, _ = read_delimited("text, label,,\na,1,x,y\n", PATH, "csv")
    assert list(columns) == ["text", "label", "unnamed column 3", "unnamed column 4"]


def test_a_name_twice() -> None:
    with pytest.raises(DataError, match=r"names a column twice \('a'\); give each column its own name"):
        read_delimited("a, a\n1,2\n", PATH, "csv")


def test_a_row_of_another_width_names_row_and_line() -> None:
    with pytest.raises(DataError, match=r"has 3 fields in row 2 \(line 5\), but its header names 2; quote fields"):
        read_delimited('a,b\n"1\n2",3\n\n4,5,6\n', PATH, "csv")


def test_the_first_file_of_a_process_may_have_a_whole_book_in_a_field(tmp_path: Path) -> None:
    """The csv module's own limit, 131,072 characters, is lifted before anything is read."""
    (tmp_path / "book.csv").write_text("text,label\n" + "word " * 40_000 + ",long\nshort,short\n")
    program = (
        "import pathlib, sys; from splade.data.files import read_table; "
        "print(len(read_table(pathlib.Path(sys.argv[1])).columns['text'][0]))"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "book.csv"], capture_output=True, text=True)
    assert done.stdout.strip() == "200000", done.stderr
