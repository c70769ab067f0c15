"""Signatures of records: Ed25519, by the package `cryptography`, the extra `sign`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from splade.errors import ConfigError, RecordError
from splade.surgery.record import Record

ALGORITHM = "ed25519"


def signed(record: Record, key: Path | None) -> Record:
    """A record with a signature of its hash, by a private key (a PEM file without a password); None: without one."""
    if key is None:
        return record
    private = _read_key(key, private=True)
    public = _raw(private.public_key())
    return replace(
        record,
        signature={
            "algorithm": ALGORITHM,
            "key": public.hex(),
            "value": private.sign(bytes.fromhex(record.hash)).hex(),
        },
    )


def check_signature(record: Record, key: Path | None = None) -> None:
    """Refuse a record whose signature is not of its hash; `key`: the public key (PEM) that must have signed it."""
    if record.signature is None:
        raise RecordError(f"Record {record.number} is not signed, and a signature was asked for; ask who wrote it.")
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        public, value = (bytes.fromhex(record.signature[name]) for name in ("key", "value"))
        if key is not None and _raw(_read_key(key, private=False)) != public:
            raise RecordError(f"Record {record.number} is signed by another key than {key}; ask who wrote it.")
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(value, bytes.fromhex(record.hash))
    except (InvalidSignature, ValueError, KeyError, TypeError):
        raise RecordError(f"The signature of record {record.number} is not of that record; do not trust it.") from None


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ConfigError(
            "Signatures need the package cryptography, which is not installed; pip install 'lexical-sae[sign]'."
        ) from None
    return ed25519


def _read_key(path: Path, *, private: bool) -> Any:
    ed25519 = _ed25519()
    from cryptography.hazmat.primitives import serialization

    kind = ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey
    try:
        content = path.read_bytes()
        found: object = (
            serialization.load_pem_private_key(content, None) if private else serialization.load_pem_public_key(content)
        )
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be read as a key ({error!s:.60}); name a PEM file without a password."
        ) from None
    if not isinstance(found, kind):
        raise ConfigError(f"{path} holds no {'private' if private else 'public'} Ed25519 key; name one that does.")
    return found


def _raw(public: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    raw: bytes = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return raw
