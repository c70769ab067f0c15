from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from splade.utils import reading
from splade.utils.reading import read_bytes


def reason(path: Path) -> str:
    with pytest.raises(OSError) as raised:
        read_bytes(path)
    return str(raised.value.strerror)


def test_a_file_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\xff")
    assert read_bytes(tmp_path / "a") == b"\x00\xff"
    assert read_bytes(Path("/dev/null")) == b""
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "b")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    content = os.urandom(300_000)  # more than a pipe holds
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content))
    writer.start()
    assert read_bytes(tmp_path / "pipe") == content
    writer.join()


def test_a_pipe_without_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    assert reason(tmp_path / "pipe").startswith("a pipe into which nobody wrote")


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "symbolic links" in reason(tmp_path / "loop")
    assert reason(Path("/dev/zero")) == "a device or socket, which may never end"
    assert reason(Path("a\0b")) == reason(Path("a\ud800")) == "no file can have this name"
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)


def test_a_file_that_has_nothing_to_read_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc/kmsg, which only some may open: looks like a file, and waits."""
    (tmp_path / "a").write_text("never seen")
    ends = os.openpty()
    os.set_blocking(ends[1], False)
    monkeypatch.setattr(reading, "_without_waiting", lambda path, flags: os.dup(ends[1]))
    assert reason(tmp_path / "a") == "there is nothing to read yet"
    for end in ends:
        os.close(end)
