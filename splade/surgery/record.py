"""The record of a removal: what was done to which model, by whom and why, what changed, and what is not guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from splade.errors import RecordError
from splade.models.removal import Matched, Removal
from splade.surgery.fingerprint import Snapshot, canonical, digest

Operation = Literal["remove", "restore", "change"]
"""What a record is of; `change`: of the model itself, such as a training, before or with which nothing is removed."""

FORMAT = 1

NOT_GUARANTEED = {
    "token": "A token that is shut adds nothing to any logit; other tokens may still speak where the word stands, and "
    "their weights may change where a unit of the head opens or closes.",
    "word": "A word that is silenced adds nothing where it stands; the backbone still reads it, so that it may change "
    "what other words say.",
    "concept": "What the words stand for may still be told from other words; nothing here measures that unless figures "
    "say so.",
    "data": "Figures hold for the data they were measured on.",
}
"""What a removal does not promise, by what it is about."""


@dataclass(frozen=True)
class Account:
    """Who removed something and why, and what was measured; all of it optional, and none of it checked but its form."""

    person: str = ""
    role: str = ""
    reason: str = ""
    purpose: str = ""
    """What the model is meant for."""
    groups: Mapping[str, Any] = field(default_factory=dict)
    """Groups of people that figures are of, and how each was derived."""
    data: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each data set, by its name."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Thresholds of decision that figures are at."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """`before` and `after`, with intervals where there are any."""


@dataclass(frozen=True)
class Record:
    """One removal, or the restoring of what was removed."""

    number: int
    """From 0."""
    previous: str
    """Hash of the record before it; of the first, empty."""
    operation: Operation
    time: str
    """UTC, as ISO 8601 writes it."""
    before: str
    """The model's hash (`Snapshot.hash`)."""
    after: str
    parts_before: str
    """The hash of all that the model computes by (`parts_hash`), which removing words does not change."""
    parts: str
    asked: list[dict[str, Any]]
    """Each target as it was asked for, and the names of what matched."""
    unmatched: list[str | int]
    removed: dict[str, list[Any]]
    """All that is removed from the model after it, as `Removal.to_json` writes it."""
    removed_before: dict[str, list[Any]]
    account: dict[str, Any]
    """An `Account`."""
    probes: list[dict[str, Any]]
    """Texts, with the logits before and after: (rows, C) each, a row a text, or of a tagger one a word."""
    not_guaranteed: list[str]
    versions: dict[str, str]
    undoes: int | None = None
    """Number of the record that this one takes back."""
    format: int = FORMAT
    hash: str = ""
    """SHA-256 of all the others but the signature."""
    signature: dict[str, str] | None = None
    """Of the hash: algorithm, public key and signature, where somebody signed."""

    def sealed_hash(self) -> str:
        """What `hash` must be."""
        return digest({key: value for key, value in self._values().items() if key not in ("hash", "signature")})

    def line(self) -> str:
        """The record as a line of its file."""
        return canonical(self._values())

    def _values(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_values(cls, values: Any, number: int) -> Record:
        """A record of what a line held."""
        names = {each.name for each in fields(cls)}
        if not isinstance(values, dict) or values.keys() != names:
            raise RecordError(f"Record {number} is damaged: it does not have the parts of a record; copy it again.")
        return cls(**values)

    @property
    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        """The model before and after."""
        return (
            Snapshot(self.parts_before, Removal.from_json(self.removed_before)),
            Snapshot(self.parts, Removal.from_json(self.removed)),
        )

    @property
    def names(self) -> list[str]:
        """What it was about, as people read it."""
        return list(dict.fromkeys(name for one in self.asked for name in one["names"]))


def asked_values(matched: Matched) -> list[dict[str, Any]]:
    """What matched, as plain values."""
    return [
        {"asked": match.asked, "names": list(match.names), "what": "word" if match.removal.words else "token"}
        for match in matched.found
    ]
