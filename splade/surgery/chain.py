"""Records as a chain: each holds the hash of the one before it, so that none can be changed, taken out or moved.

A hash shows that nothing changed since; it does not show who wrote it. A signature does (`splade.surgery.signature`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from splade.errors import RecordError
from splade.surgery.record import FORMAT, Record


def sealed(record: Record, chain: Sequence[Record]) -> Record:
    """A record with its place in a chain, and its hash."""
    placed = replace(record, number=len(chain), previous=chain[-1].hash if chain else "")
    return replace(placed, hash=placed.sealed_hash())


def read_chain(lines: Sequence[str]) -> list[Record]:
    """The records that lines hold; refused where one was changed, taken out or moved."""
    chain: list[Record] = []
    for number, line in enumerate(lines):
        record = _read(line, number)
        if record.format != FORMAT:
            raise RecordError(
                f"Record {number} has the format {record.format!r:.20}, and {FORMAT} was expected; use the version of "
                "lexical-sae that wrote it."
            )
        if record.hash != record.sealed_hash():
            raise _broken(number, "it does not match its hash")
        if record.number != number or record.previous != (chain[-1].hash if chain else ""):
            raise _broken(number, "it does not follow the record before it, so that one was taken out or moved")
        if [one.hash for one in record.snapshots] != [record.before, record.after]:
            raise _broken(number, "what it removes does not match the hashes of the model")
        if chain and record.before != chain[-1].after:
            raise _broken(number, "the model before it is not the one after the record before it")
        chain.append(record)
    return chain


def _read(line: str, number: int) -> Record:
    try:
        record = Record.from_values(json.loads(line), number)
        same = record.line() == line and len(record.snapshots) == 2
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise _broken(number, "it is no JSON") from None
    if not same:
        raise _broken(number, "it is not written as a record is")
    return record


def _broken(number: int, found: str) -> RecordError:
    return RecordError(
        f"Record {number} (counted from 0) cannot be trusted: {found}; go back to a copy of the model that verifies."
    )
