from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from splade.config.schema import DataConfig
from splade.data.files import read_columns
from splade.errors import DataError

EXPECTED = {
    "tokens": [["Ann", "met", "Bo", "Li", "."], ["Rome", "won"]],
    "tags": [["B-PER", "O", "B-PER", "I-PER", "O"], ["B-LOC", "O"]],
}
FOUR_COLUMNS = """-DOCSTART- -X- -X- O

Ann NNP B-NP B-PER
met VBD B-VP O
Bo NNP B-NP B-PER
Li NNP I-NP I-PER
. . O O


-DOCSTART- -X- -X- O
Rome NNP B-NP B-LOC
won VBD B-VP O
"""
TABS = FOUR_COLUMNS.replace(" ", "\t")
COMMENTS = "# id 1\n" + FOUR_COLUMNS.replace("\n\nAnn", "\n\n# text = Ann met Bo Li.\n#begin document\nAnn")


def write(path: Path, content: str) -> Path:
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def sentence(path: Path) -> str:
    with pytest.raises(DataError) as raised:
        read_columns(path, "tagging")
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.bio", "a.iob", "a.tsv", "a.conll.gz", "a.TSV.gz"])
@pytest.mark.parametrize(
    "content",
    [FOUR_COLUMNS, TABS, COMMENTS, FOUR_COLUMNS.replace("\n", "\r\n"), FOUR_COLUMNS.replace(" ", " \t  ")],
    ids=["spaces", "tabs", "comments", "windows", "mixed"],
)
def test_words_and_tags_however_they_are_parted(tmp_path: Path, name: str, content: str) -> None:
    assert read_columns(write(tmp_path / name, content), "tagging") == EXPECTED


def test_a_last_line_without_an_end_counts(tmp_path: Path) -> None:
    assert read_columns(write(tmp_path / "a.conll", "a O\n\nb O"), "tagging")["tokens"] == [["a"], ["b"]]
    assert read_columns(write(tmp_path / "a.conll", ""), "tagging") == {"tokens": [], "tags": []}


def test_a_hash_can_be_a_word(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "# O\n1 O\n\n#rome B-LOC\n# O\n")
    assert read_columns(path, "tagging")["tokens"] == [["#", "1"], ["#rome", "#"]]


def test_other_spaces_are_part_of_a_word(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "10\u00a0000 O\n\u00a0\tO\nNew York\tB-LOC\n")
    assert read_columns(path, "tagging")["tokens"] == [["10\u00a0000", "\u00a0", "New York"]]


def test_a_word_without_a_tag_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "# comment\na O\nb\n")
    assert sentence(path) == (
        f"The file {path} has only 'b' in line 3, but a word and its tag were expected; complete the line (a blank "
        "line ends a sentence)."
    )


def test_one_column_is_words_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "# text = a b\na\nb\n\n#c\n")
    assert read_columns(path, "tagging") == {"tokens": [["a", "b"], ["#c"]]}


def test_word_numbers_are_not_words(tmp_path: Path) -> None:
    numbered = "1\tAnn\tB-PER\n2\tmet\tO\n3\tBo\tB-PER\n\n1\tYes\tO\n"
    path = write(tmp_path / "a.tsv", numbered)
    said = (
        "numbers the words of each sentence in column 1, where the words themselves were expected; remove that column"
    )
    assert f"{said}, or name theirs with data.tokens_column." in sentence(path)
    found = read_columns(path, "tagging", DataConfig(tokens_column="2"))
    assert found == {"2": [["Ann", "met", "Bo"], ["Yes"]], "tags": [["B-PER", "O", "B-PER"], ["O"]]}
    assert read_columns(write(tmp_path / "a.tsv", numbered + "\n5\tfive\tO\n"), "tagging")["tokens"][-1] == ["5"]


def test_columns_chosen_by_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", FOUR_COLUMNS)
    found = read_columns(path, "tagging", DataConfig(tokens_column="2", tags_column="3"))
    assert found["2"][1] == ["NNP", "VBD"] and found["3"][1] == ["B-NP", "B-VP"]
    assert read_columns(path, "tagging", DataConfig(tokens_column="tokens", tags_column="ner_tags")) == EXPECTED
    for number in ("0", "5"):
        with pytest.raises(
            DataError, match=rf"a.conll has no column {number}, only 1 to 4; correct data.tags_column\."
        ):
            read_columns(path, "tagging", DataConfig(tags_column=number))


def test_formats_of_the_other_task_are_refused_as_such(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", FOUR_COLUMNS)
    with pytest.raises(DataError, match=r"ends in \.conll, which classification does not read; convert it, or change"):
        read_columns(path)
    said = sentence(write(tmp_path / "a.csv", "text,label\n"))
    assert "ends in .csv, which tagging does not read" in said and "tagging reads .bio, .conll, .iob, .jsonl" in said
    assert "ends in none of .bio, .conll, .iob, .jsonl, .tsv, .txt" in sentence(write(tmp_path / "a.doc", ""))


def test_a_missing_last_column_is_not_made_up_for_by_the_one_before(tmp_path: Path) -> None:
    said = sentence(write(tmp_path / "a.conll", FOUR_COLUMNS.replace("Li NNP I-NP I-PER", "Li NNP I-NP")))
    assert "3 columns in line 6" in said and "4 in line 3" in said


@pytest.mark.parametrize(("line", "missing"), [("Li\tNNP\tI-NP\t", "no tag"), ("\tNNP\tI-NP\tI-PER", "no word")])
def test_an_empty_column_is_no_word_and_no_tag(tmp_path: Path, line: str, missing: str) -> None:
    said = sentence(write(tmp_path / "a.conll", TABS.replace("Li\tNNP\tI-NP\tI-PER", line)))
    assert missing in said and "line 6" in said


@pytest.mark.parametrize(
    ("content", "line"), [("word,tag\nAnn,B-PER\n", 1), ("Sentence #,Word,Tag\nSentence: 1,Ann,B-PER\n,met,O\n", 3)]
)
def test_csv_under_another_name(tmp_path: Path, content: str, line: int) -> None:
    said = sentence(write(tmp_path / "a.txt", content))
    assert f"in line {line}, with a comma where a tab or spaces must stand" in said and "from CSV to columns" in said
    assert "has only '1,000' in line 2" in sentence(write(tmp_path / "a.txt", "Ann B-PER\n1,000\n"))


def test_numbers_can_be_words(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "1 O\n2 O\n3 O\n")  # without a third column they number nothing
    assert read_columns(path, "tagging")["tokens"] == [["1", "2", "3"]]
