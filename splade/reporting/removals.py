"""The records of what was removed from a model, as rows for people to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splade.errors import RecordError
from splade.surgery.chain import read_chain
from splade.surgery.record import Record

OPERATIONS = {"remove": "removed", "restore": "restored", "change": "the model itself changed"}


@dataclass(frozen=True)
class Removals:
    """What a card says of removals."""

    log: list[dict[str, str]]
    """Of each record: number, date, what, who, why."""
    purposes: list[str]
    """What the model is meant for."""
    facts: list[tuple[str, str]]
    """Metrics before and after, groups, thresholds and data, by what they are of."""
    not_guaranteed: list[str]
    """Of the last record."""
    problem: str = ""
    """Why the records cannot be trusted, if they cannot."""


def removals(lines: Sequence[str]) -> Removals | None:
    """What the records of a model say; None: it has none."""
    if not lines:
        return None
    try:
        chain = read_chain(lines)
    except RecordError as error:
        return Removals([], [], [], [], str(error))
    accounts = [record.account for record in chain]
    facts = [fact for record in chain for fact in _facts(record)]
    purposes = list(dict.fromkeys(account["purpose"] for account in accounts if account.get("purpose")))
    return Removals([_row(record) for record in chain], purposes, facts, chain[-1].not_guaranteed)


def _row(record: Record) -> dict[str, str]:
    account = record.account
    who = ", ".join(part for part in (account.get("person"), account.get("role")) if part)
    return {
        "number": str(record.number),
        "date": record.time,
        "what": described(record),
        "who": who or "not said",
        "why": account.get("reason") or "not said",
        "hash": record.hash[:12],
        "signed": "yes" if record.signature else "no",
    }


def described(record: Record) -> str:
    """What a record is of, in a few words."""
    what = OPERATIONS.get(record.operation, record.operation)
    if record.undoes is not None:
        return f"{what}: record {record.undoes} taken back"
    by_kind: dict[str, list[str]] = {}
    for one in record.asked:
        by_kind.setdefault(one["what"], []).extend(one["names"])
    named = {"token": "tokens shut", "word": "words silenced"}
    parts = [f"{named[kind]}: {', '.join(dict.fromkeys(names))}" for kind, names in by_kind.items()]
    return f"{what} ({'; '.join(parts)})" if parts else f"{what} (all)" if record.operation == "restore" else what


def _facts(record: Record) -> list[tuple[str, str]]:
    """What was measured, where anything was."""
    titles = {
        "figures": "Metrics before and after",
        "groups": "Groups, and how they were derived",
        "thresholds": "Thresholds of decision",
        "data": "Data measured on, SHA-256",
    }
    account: Mapping[str, Any] = record.account
    return [
        (f"{title} (record {record.number})", json.dumps(account[key], ensure_ascii=False))
        for key, title in titles.items()
        if account.get(key)
    ]
