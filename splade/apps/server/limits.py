"""What the server takes before it says no; every limit is a refusal with a sentence, and none cuts anything off."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024

MOST_TEXTS = 64
"""Texts of one request: two ordinary batches."""

MOST_CHARACTERS = 1_000_000
"""Of one text; a text of 100,000 words has some 600,000."""

MOST_REMOVED = 256
"""Tokens, words or places that one request removes."""


@dataclass(frozen=True)
class Limits:
    """Limits of one server."""

    body_bytes: int = 4 * MEGABYTE
    """Of a request: room for one text of `MOST_CHARACTERS`, in any script."""
    tokens: int = 16_384
    """Of all texts of a request together, as the model reads them: some seconds on two cores."""
    requests: int = 512
    """Under way at a time; each may hold a body, so this bounds the memory that bodies take, and it is more than a
    queue can ever hold so that it is the queue that says no first."""
    queued_texts: int = 256
    """Waiting for the model: some seconds of work, more than which nobody wants to wait in a queue."""
    batch_tokens: int = 2_048
    """Positions of a batch, padding included: as many as a processor reads at a time anyway
    (`splade.models.lexical_sae.POSITIONS_AT_A_TIME`)."""
    encodings_bytes: int = 64 * MEGABYTE
    """Of encodings kept of each model: those of a thousand sentences of a small one."""
    body_seconds: float = 10.0
    """For a body to arrive."""
    answer_seconds: float = 60.0
    """For an answer, waiting included."""
    drain_seconds: float = 30.0
    """For the answers under way once the server is told to end."""
