"""Writing a record: what changed between two states of a model becomes the next line of its chain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from splade.errors import RecordError
from splade.models.removal import Matched, Removal
from splade.models.saving import library_versions
from splade.surgery.chain import read_chain, sealed
from splade.surgery.fingerprint import Snapshot, canonical
from splade.surgery.record import NOT_GUARANTEED, Account, Operation, Record, asked_values
from splade.surgery.signature import signed


def append_record(
    model: Any,
    before: Snapshot,
    after: Snapshot,
    *,
    operation: Operation,
    matched: Matched | None = None,
    account: Account | None = None,
    probes: Sequence[dict[str, Any]] = (),
    key: Path | None = None,
    undoes: int | None = None,
) -> Record:
    """The record of a change, appended to those of the model.

    Where the model is not as the last record left it, a record of that comes first: it was changed without one.
    """
    chain, account = read_chain(model.surgery), account or Account()
    lines = list(model.surgery)
    if chain and chain[-1].after != before.hash:
        found = Account(reason="The model was found to be another than the last record left; nobody recorded why.")
        chain.append(sealed(_record("change", chain[-1].snapshots[1], before, found, Matched(())), chain))
        lines.append(chain[-1].line())
    record = _record(operation, before, after, account, matched or Matched(()), probes, undoes)
    record = signed(sealed(record, chain), key)
    model.surgery = (*lines, record.line())
    return record


def _record(
    operation: Operation,
    before: Snapshot,
    after: Snapshot,
    account: Account,
    matched: Matched,
    probes: Sequence[dict[str, Any]] = (),
    undoes: int | None = None,
) -> Record:
    record = Record(
        number=0,
        previous="",
        operation=operation,
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        before=before.hash,
        after=after.hash,
        parts_before=before.parts,
        parts=after.parts,
        asked=asked_values(matched),
        unmatched=list(matched.unmatched),
        removed=after.removal.to_json(),
        removed_before=before.removal.to_json(),
        account=asdict(account),
        probes=list(probes),
        not_guaranteed=_not_guaranteed(after.removal, account),
        versions=library_versions(),
        undoes=undoes,
    )
    return Record(**_plain({each.name: getattr(record, each.name) for each in fields(record)}))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON has them: lists for tuples, text for keys; refused where JSON cannot write them."""
    try:
        text = canonical(values)
        text.encode()  # a lone surrogate is no text
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(
            f"What a record holds must be plain JSON values, and finite numbers ({error!s:.80}); leave the others out."
        ) from None
    return plain


def _not_guaranteed(removal: Removal, account: Account) -> list[str]:
    said = {
        "token": bool(removal.tokens or removal.split),
        "word": bool(removal.words),
        "concept": bool(removal),
        "data": bool(account.figures),
    }
    return [NOT_GUARANTEED[about] for about, holds in said.items() if holds]
