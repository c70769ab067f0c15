"""The errors a user can cause.

Each is raised with one sentence that says what was found, what was expected and what to do next, so the command line
can print the message alone and leave the traceback out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from reprlib import Repr

EXIT_INTERRUPTED = 130  # what shells give a program that Ctrl-C ended


class LexicalSAEError(Exception):
    """Base of every error whose cause, and cure, lies with the person running the program."""


class ConfigError(LexicalSAEError):
    """A setting is unknown, out of range or of the wrong type."""


class DataError(LexicalSAEError):
    """A data set is missing, damaged or not shaped as the task needs."""


class OtherTaskError(DataError):
    """Data is made for another task than the one asked for.

    What to do depends on who asks: a training may change its task (``advice``), a saved model cannot.
    """

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(f"{found}; {advice}.")
        self.found = found


class UnknownLabelError(DataError):
    """Data has a label that is not among the known ones.

    A training may be told of more (``advice``), a saved model cannot.
    """

    def __init__(self, found: str, advice: str, hint: str) -> None:
        super().__init__(f"{found}; {advice}.{hint}")
        self.found, self.hint = found, hint


class BackboneError(LexicalSAEError):
    """A pretrained encoder cannot be found or cannot be used here."""


class ModelError(LexicalSAEError):
    """A model is asked for something its parts cannot give."""


class CheckpointError(LexicalSAEError):
    """A saved model or training state is missing, damaged or belongs to another run."""


class RecordError(LexicalSAEError):
    """A record of what was removed from a model is damaged, incomplete, or of another model."""


class TrainingError(LexicalSAEError):
    """Training cannot start or cannot go on."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the choice spelled most like ``word``, or ``""`` if none is close."""
    by_lower_case = {choice.lower(): choice for choice in choices}
    matches = get_close_matches(word.lower(), list(by_lower_case), n=1)
    return f" Did you mean '{by_lower_case[matches[0]]}'?" if matches else ""


SHOWN_CHARACTERS = 60
SHOWN_NAMES = 20  # that a message lists; more would bury the sentence

_short = Repr()  # bounded in depth too: YAML can write a list of lists of lists that would fill the memory
_short.maxstring = _short.maxother = 2 * SHOWN_CHARACTERS


def shown(value: object) -> str:
    """A value in a message: on one line, in quotes if it is text, and short."""
    try:
        text = _short.repr(value) if not isinstance(value, str) else repr(value[: 2 * SHOWN_CHARACTERS])
    except ValueError:  # a number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def listed(names: Sequence[str]) -> str:
    """Names in a message, the first of many, each cut if it is long."""
    short = [name if len(name) <= SHOWN_CHARACTERS else f"{name[: SHOWN_CHARACTERS - 3]}..." for name in names]
    return ", ".join(short[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
