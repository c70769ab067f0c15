"""From a file's bytes to text: encodings that a file tells by itself are found, others must be named."""

from __future__ import annotations

import codecs
import unicodedata
from pathlib import Path

from splade.errors import DataError

# Byte-order marks; that of UTF-32 begins with that of UTF-16, so it comes first.
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ARCHIVES = {
    b"PK\x03\x04": "is a zip archive or an Excel workbook, where text was expected; unpack it, or export it as CSV",
    b"\x1f\x8b": "is gzip-compressed, and its name does not say so; let it end in .gz",
}
"""How files begin that are often taken for text, and what to do with them."""
USUAL = "utf-8"
SAMPLE = 1 << 20  # bytes by which an encoding is proposed
# Of the letters of western European languages fewer are accented; Cyrillic misread as western has nothing else.
MOST_ACCENTED = 0.3
FEWEST_NULS = 0.8  # share of every other byte that is NUL in UTF-16 of European languages; binary files have fewer


def decode(data: bytes, path: Path, encoding: str | None = None) -> tuple[str, list[str]]:
    """The text, and sentences about what is odd in it; ``encoding``: null for UTF-8, or what a byte-order mark says.

    A mark goes before ``encoding``: no text starts with what it would be in another encoding.
    """
    marked = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
    chosen = marked or encoding or USUAL
    try:
        text = data.decode(chosen)
    except UnicodeError as error:
        raise _undecodable(data, path, chosen, error) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        wide = _without_mark(data)
        advice = f"name its encoding with data.encoding={wide}" if wide else "name a file of text"
        raise DataError(f"The file {path} has a NUL character in line {line}, as no text has; {advice}.")
    notes = []
    if chosen == encoding and not data.isascii() and codecs.lookup(encoding).name != USUAL and _decodes(data, USUAL):
        notes.append(f"{path} was read as {encoding}, since data.encoding says so, although it is valid UTF-8.")
    return text, notes


def clean_text(text: str) -> str:
    """Half a surrogate pair, as JSON escapes can write, would stop the tokenizer."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _undecodable(data: bytes, path: Path, encoding: str, error: UnicodeError) -> DataError:
    for mark, advice in ARCHIVES.items():
        if data.startswith(mark):
            return DataError(f"The file {path} {advice}.")
    line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else 0
    place = f" at line {line}" if line else ""
    name = "UTF-8" if encoding in (USUAL, "utf-8-sig") else encoding
    likely = _without_mark(data) or _western(data)
    if likely and likely != encoding:
        advice = (
            f"it looks like {likely}, so if that is right, read it with --set data.encoding={likely} (predict and "
            f"explain: --encoding {likely})"
        )
    else:
        advice = "save it as UTF-8, or name its encoding with data.encoding, such as cp1252, cp1251 or gb18030"
    return DataError(f"The file {path} is not {name} text{place}; {advice}.")


def _without_mark(data: bytes) -> str | None:
    """UTF-16 whose mark is missing: every other byte of what is mostly English is NUL."""
    sample = data[: SAMPLE - SAMPLE % 2]
    for name, nuls in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if nuls and nuls.count(0) > FEWEST_NULS * len(nuls) and _decodes(data, name):
            return name
    return None


def _western(data: bytes) -> str | None:
    """An encoding of western European languages in which the bytes look like text."""
    for name in ("cp1252", "latin-1"):
        if _decodes(data, name):
            text = data[:SAMPLE].decode(name)
            letters = [character for character in text if character.isalpha()]
            accented = sum(not letter.isascii() for letter in letters)
            controls = any(unicodedata.category(character) == "Cc" and character not in "\t\r\n" for character in text)
            return name if not controls and accented <= MOST_ACCENTED * len(letters) else None
    return None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeError:
        return False
    return True
