from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splade.data.quoting import read_rows
from splade.errors import DataError

PATH = Path("a.tsv")


def read(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    rows, notes = read_rows(text, PATH, delimiter)
    return [row.fields for row in rows], notes


def unquoted(delimiter: str, rows: int = 80, first: int = 10, last: int = 15) -> list[list[str]]:
    """Rows of a file that nobody quoted: one text starts with a quote, and one that follows ends with one."""
    texts = [f"text number {row}" for row in range(rows)]
    texts[first] = f'"{texts[first]}'
    texts[last] = f'{texts[last]}"'
    return [["text", "label"], *([text, ("bad", "good")[row % 2]] for row, text in enumerate(texts))]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize(("rows", "first", "last"), [(80, 10, 15), (80, 0, 79), (6, 1, 2), (300, 298, 299)])
def test_a_quote_that_swallows_rows_is_a_character(delimiter: str, rows: int, first: int, last: int) -> None:
    expected = unquoted(delimiter, rows, first, last)
    found, notes = read("\n".join(delimiter.join(row) for row in expected), delimiter)
    assert found == expected
    assert notes == [
        "a.tsv: each line was read as a row and quotes as ordinary characters, since the quote that opens a field in "
        f"line {first + 2} closes only in line {last + 2}, around what look like rows."
    ]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
def test_wherever_the_text_stands(order: tuple[int, ...]) -> None:
    rows = [[*row, str(number)] for number, row in enumerate(unquoted("\t"))]
    expected = [[row[place] for place in order] for row in rows]
    assert read("\n".join("\t".join(row) for row in expected), "\t")[0] == expected


@pytest.mark.parametrize("line", ['"Great" film\tgood', '"Great film\tgood', 'a\t"x"y'])
def test_quotes_that_cannot_be_csv_are_characters_where_lines_are_rows(line: str) -> None:
    found, (note,) = read(f"text\tlabel\nfine\tgood\n{line}\n", "\t")
    assert found[2] == line.split("\t")
    assert note.startswith(
        "a.tsv: each line was read as a row and quotes as ordinary characters, since it has a quote "
    )
    assert "that opens a field in line 3 and" in note


def test_a_field_that_is_quoted_as_a_whole_loses_its_quotes_on_such_lines() -> None:
    assert read('text\tlabel\n"a ""b"""\tgood\n"never closed\tbad\n', "\t")[0][1:] == [
        ['a "b"', "good"],
        ['"never closed', "bad"],
    ]


def test_quotes_that_cannot_be_csv_are_refused_where_lines_are_no_rows() -> None:
    with pytest.raises(DataError) as raised:
        read('text,label\n"one\ntwo",good\n"three" four,bad\n', ",")
    assert str(raised.value) == (
        "The file a.tsv has a quote that opens a field in line 4 and closes in line 4 before the end of the field; "
        "close it, write quotes inside of quotes twice, or remove it."
    )


def test_what_may_be_rows_in_a_quoted_file_is_said() -> None:
    texts = ["one\ntwo", *(f"text {row}" for row in range(20)), "swallowed,good\ntext 20"]
    stream = io.StringIO()
    csv.writer(stream).writerows([["text", "label"], *([text, "good"] for text in texts)])
    found, notes = read(stream.getvalue(), ",")
    assert [row[0] for row in found[1:]] == texts
    assert notes == [
        "a.tsv: the quote that opens a field in line 24 closes only in line 25, around what may be rows; they were "
        "read as one, so check these lines."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I liked it, really\nGreat film",  # as many commas a line as a row has
        "Dear all,\nthanks",
        "it cost 1,000\nnever again",
        "a, b\n\nc",
        "one\n" * 50,
        'with, "quotes"\nand, more',
    ],
)
@pytest.mark.parametrize("labels", [("good", "bad"), ("0", "1"), ("1", "5")])
@pytest.mark.parametrize("shape", ["text,label", "label,text", "id,text,label"])
def test_texts_of_several_lines_are_texts(text: str, labels: tuple[str, str], shape: str) -> None:
    rows = [{"id": str(row), "text": f"plain {row}", "label": labels[row % 2]} for row in range(20)]
    rows[5]["text"] = rows[7]["text"] = text
    rows[8]["text"] = "three\nlines\nof text"
    names = shape.split(",")
    expected = [names, *([row[name] for name in names] for row in rows)]
    stream = io.StringIO()
    csv.writer(stream).writerows(expected)
    assert read(stream.getvalue(), ",") == (expected, [])


FIELDS = st.text(st.sampled_from('ab,;\t"\n\r é'), max_size=8)


@given(
    rows=st.lists(st.tuples(FIELDS, st.sampled_from(["good", "bad"])), min_size=1, max_size=20),
    delimiter=st.sampled_from([",", "\t", ";"]),
)
def test_what_a_csv_writer_wrote_is_read_back_or_doubted(rows: list[tuple[str, str]], delimiter: str) -> None:
    expected = [["text", "label"], *map(list, rows)]
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(expected)
    found, notes = read(stream.getvalue(), delimiter)
    assert found == expected or any("read as a row" in note for note in notes)
