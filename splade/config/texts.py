"""Settings that are text: names, paths, and what a file is written in."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic.functional_validators import AfterValidator, BeforeValidator


def _check_text(value: str) -> str:
    # An unset shell variable: taken for nothing at all, it would train on something else.
    if not value.strip():
        raise ValueError("must not be empty")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must be text that UTF-8 can write, without NUL characters")
    return value


# What YAML or a shell makes hard to write.
_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def _delimiter(value: object) -> object:
    return _DELIMITER_NAMES.get(value, value) if isinstance(value, str) else value


def _one_character(value: str) -> str:
    if len(value) != 1 or value in '"\r\n\0':
        raise ValueError(f"must be one character or one of {', '.join(_DELIMITER_NAMES)}")
    return value


def _text_encoding(value: str) -> str:
    try:
        b"text".decode(value)
    except LookupError:  # unknown, or not of text
        raise ValueError("must be the name of a text encoding, such as utf-8, cp1252 or utf-16") from None
    except ValueError:  # four letters are no whole text in it
        pass
    return value


def _as_name(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_names(value: object) -> object:
    # `labels: [0, 1]` means the classes called 0 and 1.
    return [_as_name(each) for each in value] if isinstance(value, list) else value


Text = Annotated[str, AfterValidator(_check_text)]
# `~` is the home folder in a settings file too, where no shell reads it.
FilePath = Annotated[Text, AfterValidator(os.path.expanduser)]
# The columns of a column file have numbers.
ColumnName = Annotated[Text, BeforeValidator(_as_name)]
Names = Annotated[list[Text], BeforeValidator(_as_names)]
Delimiter = Annotated[str, BeforeValidator(_delimiter), AfterValidator(_one_character)]
Encoding = Annotated[Text, AfterValidator(_text_encoding)]
