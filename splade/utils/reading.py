"""The bytes of a file that somebody named: whatever stands there ends in them or in an ``OSError``, and never hangs."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

PATIENCE = 5.0  # seconds for somebody to open the other end of a pipe; a shell that starts both ends needs far less
CHUNK = 1 << 16


def read_bytes(path: Path) -> bytes:
    """All bytes of a file or a pipe; a device, which may never end, and a pipe without a writer are errors."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISFIFO(mode):
            return _read_pipe(path)
        if stat.S_ISREG(mode):
            return _read_file(path)
        if os.fspath(path) == os.devnull or _is_terminal(path):
            return path.read_bytes()
    except ValueError:  # a NUL or half a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "a device or socket, which may never end", str(path))


def _read_file(path: Path) -> bytes:
    # Files of /proc may have nothing to read yet, and would wait for it.
    with open(path, "rb", buffering=0, opener=_without_waiting) as file:
        content: bytes | None = file.readall()
    if content is None:
        raise OSError(errno.EAGAIN, "there is nothing to read yet", str(path))
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # which Windows does not have, nor needs


def _read_pipe(path: Path) -> bytes:
    # Opened as usual, a pipe that nobody writes to would wait for ever.
    with open(path, "rb", buffering=0, opener=_without_waiting) as pipe:
        deadline = time.monotonic() + PATIENCE
        start: bytes | None = b""  # None: somebody is about to write
        while start == b"" and time.monotonic() < deadline:
            start = pipe.read(CHUNK)
            if start == b"":
                time.sleep(0.02)
        if start == b"":
            raise OSError(errno.EPIPE, f"a pipe into which nobody wrote within {PATIENCE:.0f} seconds", str(path))
        os.set_blocking(pipe.fileno(), True)
        return (start or b"") + pipe.readall()


def _is_terminal(path: Path) -> bool:
    """Whether somebody can type at it, and end with Ctrl-D."""
    with open(path, "rb", buffering=0, opener=_without_waiting) as file:
        return file.isatty()
