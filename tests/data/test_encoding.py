from __future__ import annotations

from pathlib import Path

import pytest

from splade.data.encoding import decode
from splade.errors import DataError

PATH = Path("a.csv")
FRENCH = "text,label\nUn été à la plage – « déjà vu »,bon\n" * 3


def sentence(data: bytes, encoding: str | None = None) -> str:
    with pytest.raises(DataError) as raised:
        decode(data, PATH, encoding)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_a_file_says_itself_is_found(encoding: str) -> None:
    assert decode(FRENCH.encode(encoding), PATH) == (FRENCH, [])


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be", "utf-32-be"])
def test_a_mark_goes_before_the_setting(mark: str) -> None:
    assert decode(("\ufeff" + FRENCH).encode(mark), PATH, "cp1252") == (FRENCH, [])


@pytest.mark.parametrize("encoding", ["cp1252", "shift_jis", "koi8-r"])
def test_others_are_read_as_the_setting_says(encoding: str) -> None:
    text = {"cp1252": FRENCH, "shift_jis": "日本語", "koi8-r": "Привет"}[encoding]
    assert decode(text.encode(encoding), PATH, encoding) == (text, [])


def test_western_text_is_recognised_but_not_taken_for_granted() -> None:
    assert sentence(FRENCH.encode("cp1252")) == (
        "The file a.csv is not UTF-8 text at line 2; it looks like cp1252, so if that is right, read it with "
        "--set data.encoding=cp1252 (predict and explain: --encoding cp1252)."
    )


@pytest.mark.parametrize("data", ["Привет, мир\n".encode("cp1251") * 5, bytes(range(1, 256)), b"\x80\x01\x02" * 9])
def test_what_does_not_look_western_is_not_called_so(data: bytes) -> None:
    said = sentence(data)
    assert "; save it as UTF-8, or name its encoding with data.encoding, such as" in said


def test_utf_16_without_a_mark_is_recognised() -> None:
    assert "has a NUL character in line 1, as no text has; name its encoding with data.encoding=utf-16-le" in sentence(
        b"text,label\nfine,good\n".decode().encode("utf-16-le")
    )
    assert "data.encoding=utf-16-be" in sentence("text,label\nété,good\n".encode("utf-16-be"))


def test_binary_files_are_no_text() -> None:
    assert sentence(b"text,label\na\x00b,c\n") == (
        "The file a.csv has a NUL character in line 2, as no text has; name a file of text."
    )


def test_a_wrong_setting_is_named() -> None:
    assert "is not ascii text at line 2" in sentence(FRENCH.encode(), "ascii")
    assert "is not utf-16 text" in sentence(b"abc", "utf-16")


def test_utf_8_read_as_something_else_is_said() -> None:
    text, notes = decode(FRENCH.encode(), PATH, "cp1252")
    assert "Ã©tÃ©" in text
    assert notes == ["a.csv was read as cp1252, since data.encoding says so, although it is valid UTF-8."]
    assert decode(b"plain", PATH, "cp1252")[1] == []
    assert decode(FRENCH.encode(), PATH, "UTF8")[1] == []


@pytest.mark.parametrize(
    ("start", "said"), [(b"PK\x03\x04\xff", "Excel workbook"), (b"\x1f\x8b\x08\xff", "end in .gz")]
)
def test_what_is_packed_is_called_so(start: bytes, said: str) -> None:
    assert said in sentence(start)
