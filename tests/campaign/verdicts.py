"""What a case can end in, and how an ending becomes one of these."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from splade.errors import LexicalSAEError


class Verdict(str, Enum):
    """How a case ended."""

    RIGHT = "right"  # it succeeded and the oracle agrees
    SENTENCE = "one sentence"  # it was refused as a user's mistake should be
    SKIPPED = "skipped"  # this machine cannot run it; the detail says why
    TRACEBACK = "traceback"  # any other exception, or a message that is no sentence
    WRONG = "silently wrong"  # it succeeded and the oracle disagrees, or it refused what it must accept
    LOST = "lost"  # bytes of the user's, or of an earlier whole model, are gone or changed
    HUNG = "hung"  # it did not end in time


FAILURES = (Verdict.TRACEBACK, Verdict.WRONG, Verdict.LOST, Verdict.HUNG)


@dataclass(frozen=True)
class Outcome:
    """A verdict and the line that goes with it."""

    verdict: Verdict
    detail: str = ""


class Ended(Exception):
    """Raised by an oracle that has seen enough."""

    verdict = Verdict.RIGHT


class Refused(Ended):
    """The program said one sentence, which is this exception's text."""

    verdict = Verdict.SENTENCE


class Skip(Ended):
    verdict = Verdict.SKIPPED


class Crashed(Ended):
    verdict = Verdict.TRACEBACK


class Wrong(Ended):
    verdict = Verdict.WRONG


class Lost(Ended):
    verdict = Verdict.LOST


class Hung(Ended):
    verdict = Verdict.HUNG


#: Words of Python and torch, which say nothing to a user: an exception's text in the place of a sentence.
INTERNAL = re.compile(
    r"Traceback|\(KeyError|(?:read|loaded|used|written) \('[^' ]*'\)|object has no attribute|'NoneType'|object is not "
    r"|not supported between|indices must be|unexpected keyword|positional argument|state_dict|size mismatch"
    r"|must be real number|Errno|^\S*(Error|Exception)\b",
)


ENDING = re.compile(r"[.?](?: \(and \d+ more\))?$")  # of the first of several mistakes, the others are counted


def fault_of(message: str) -> str | None:
    """What keeps a message from being one sentence for a user, if anything."""
    text = message.strip()
    if not text:
        return "it is empty"
    if len(text.splitlines()) > 1:
        return "it has several lines"
    if found := INTERNAL.search(text):
        return f"it shows Python's insides ('{found[0]}')"
    if not ENDING.search(text):
        return "it does not end as a sentence"
    return None


def refused(message: str) -> Refused | Crashed:
    """A refusal by the program: of one sentence, or not."""
    fault = fault_of(message)
    return Refused(message) if fault is None else Crashed(f"no sentence, because {fault}: {_line(message)}")


def judge(run: Callable[[], object]) -> Outcome:
    """Run a case to its verdict."""
    try:
        run()
    except Ended as end:
        return Outcome(end.verdict, _line(str(end)))
    except LexicalSAEError as error:
        end = refused(str(error))
        return Outcome(end.verdict, _line(str(end)))
    except Exception as error:
        return Outcome(Verdict.TRACEBACK, _line(f"{type(error).__name__}: {error} [{_place(error)}]"))
    return Outcome(Verdict.RIGHT)


def must_refuse(run: Callable[[], object], why: str) -> None:
    """`run` must end in a sentence; success is silently wrong."""
    found = run()
    raise Wrong(f"accepted {why}: {found!r:.100}")


def must_accept(run: Callable[[], object], what: str) -> None:
    """`run` must succeed; a refusal is wrong, however well it is put."""
    try:
        run()
    except (LexicalSAEError, Refused) as error:
        raise Wrong(f"refused {what}: {error}") from error


def expect(holds: object, otherwise: str) -> None:
    """The oracle's assertion."""
    if not holds:
        raise Wrong(otherwise)


def _place(error: BaseException) -> str:
    """The last line of the program that an exception passed through, else of the campaign: where to look."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/splade/" in frame.filename] or frames
    return f"{own[-1].filename.rpartition('/splade/')[2] or own[-1].filename}:{own[-1].lineno}" if own else "nowhere"


def _line(text: str) -> str:
    """On one line, and printable: a detail may quote whatever a case was made of."""
    shown = " ".join(text.split())
    return "".join(character if character.isprintable() else "·" for character in shown)[:300]
