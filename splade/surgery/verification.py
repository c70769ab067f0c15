"""Checking a model against its records: the chain, the model's hash, and what it says of the stored texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from splade.errors import RecordError
from splade.models.removal import Removal
from splade.surgery.chain import read_chain
from splade.surgery.fingerprint import parts_hash, snapshot
from splade.surgery.probes import CLOSE, largest_difference, probe_logits
from splade.surgery.record import Record
from splade.surgery.signature import check_signature


@dataclass(frozen=True)
class Replayed:
    """What a model says now of the texts of one record, made to be as it was before and after it."""

    number: int
    texts: int
    before: float
    """Largest difference of a logit from the one stored."""
    after: float

    @property
    def same(self) -> bool:
        return max(self.before, self.after) <= CLOSE


@dataclass(frozen=True)
class Verified:
    """A model whose records hold."""

    records: int
    texts: int
    """Probe texts that were read again."""
    difference: float
    """Largest difference of a logit from the one stored."""
    signed: int
    """Records whose signature was checked."""


def verify(model: Any, *, key: Path | None = None, signatures: bool = True) -> Verified:
    """Check that a model is what its records say; refused with what is wrong.

    `key`: the public key that every record must be signed with. `signatures`: check those that are there.
    """
    chain = read_chain(model.surgery)
    if not chain and model.removal:
        raise RecordError(
            "Words are removed from the model and no record says so; go back to a copy that has its records."
        )
    if chain:
        _check_model(model, chain[-1])
    replayed = replay(model, chain)
    for one in replayed:
        if not one.same:
            raise RecordError(
                f"The model does not say of the texts of record {one.number} what the record says (a logit differs by "
                f"{max(one.before, one.after):.3g}, and {CLOSE:g} was expected); it is another model, or damaged."
            )
    to_check = [record for record in chain if key is not None or (signatures and record.signature is not None)]
    for record in to_check:
        check_signature(record, key)
    worst = max((max(one.before, one.after) for one in replayed), default=0.0)
    return Verified(len(chain), sum(one.texts for one in replayed), worst, len(to_check))


def replay(model: Any, chain: list[Record] | None = None) -> list[Replayed]:
    """Read the texts of every record again, with the model as it was before and after it; it is left as it is.

    A record from before the model itself was changed cannot be replayed, and is left out.
    """
    chain = read_chain(model.surgery) if chain is None else chain
    parts, answers = parts_hash(model) if chain else "", []
    for record in chain:
        texts = [probe["text"] for probe in record.probes]
        if {record.parts_before, record.parts} != {parts}:
            continue
        differences = []
        for name, was in zip(("before", "after"), record.snapshots, strict=True):
            with _removing(model, was.removal):
                found = probe_logits(model, texts) if texts else []
            differences.append(largest_difference(found, [probe[name] for probe in record.probes]))
        answers.append(Replayed(record.number, len(texts), *differences))
    return answers


def _check_model(model: Any, last: Record) -> None:
    now = snapshot(model)
    if now.parts != last.parts:
        raise RecordError(
            f"The last record ({last.number}) is of another model: the hash it gives is not this model's; put the "
            "records back where they belong, or go back to a copy of the model that verifies."
        )
    if now.hash != last.after:
        raise RecordError(
            f"The model removes other words than its last record ({last.number}) says; a record is missing, or it was "
            "changed without one."
        )


@contextmanager
def _removing(model: Any, removal: Removal) -> Iterator[None]:
    """Within, just this is removed from a model."""
    was = model.removal
    model.set_removal(removal)
    try:
        yield
    finally:
        model.set_removal(was)
