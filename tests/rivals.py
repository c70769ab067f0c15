"""Rivals for the benchmarks' tests, in a module without heavy imports: every new process has to import it."""

from __future__ import annotations

from benchmarks.measure import Work
from splade.errors import DataError


def build_block(megabytes: int) -> Work:
    """Take so much memory, and give it back."""

    def work() -> dict[str, float]:
        block = b"\1" * (megabytes * 1024 * 1024)  # not zeros, whose pages the kernel hands out only when written
        return {"last": float(block[-1])}

    return work


def build_nothing() -> Work:
    """Fail as a user's mistake does."""
    raise DataError("There is nothing to measure.")
