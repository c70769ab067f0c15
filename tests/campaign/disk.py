"""A disk that fills up: one sentence, the earlier model whole, and with more room the run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.campaign.case import Trial
from tests.campaign.cli import forked
from tests.campaign.kills import check_a_model, finish
from tests.campaign.verdicts import Crashed, Skip
from tests.campaign.workshop import KILLED, Workshop

LARGEST = 2_600  # KiB that a run of the workshop's leaves room in


def draw(rng: Random, workshop: Workshop) -> Trial:
    """A small file system as output_dir, with an earlier run on it or none, or as the place of temporary files."""
    room = rng.randint(4, LARGEST)
    kind = rng.choice(["output_dir", "output_dir", "output_dir of an earlier run", "TMPDIR"])
    return Trial(f"{room} KiB left for {kind}", lambda folder: _check(room, kind, folder, workshop))


@contextmanager
def _small_disk(place: Path, kib: int) -> Iterator[None]:
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", place], capture_output=True, text=True
    )
    if done.returncode:
        raise Skip(f"no small file system can be mounted here ({done.stderr.strip()})")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def _check(room: int, kind: str, folder: Path, workshop: Workshop) -> None:
    disk, replaces = folder / "disk", "earlier" in kind
    earlier = sum(path.stat().st_size // 1024 + 4 for path in workshop.run("earlier").rglob("*")) if replaces else 0
    with _small_disk(disk, room + earlier):
        out = folder / "out" if kind == "TMPDIR" else disk / "out"
        if replaces:
            shutil.copytree(workshop.run("earlier"), out)
        flags = ["--overwrite"] if replaces else []

        def prepare() -> None:
            if kind == "TMPDIR":
                (disk / "filler").write_bytes(bytes(max(0, room - 8) * 1024))
                os.environ["TMPDIR"] = tempfile.tempdir = str(disk)

        ran = forked(["train", *flags, *workshop.settings(out, **KILLED)], folder, prepare)
        if isinstance(ran.refusal, Crashed):
            raise ran.refusal
        if replaces:
            check_a_model(out, workshop, ("earlier", "reference"))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True, capture_output=True)
        finish(out, folder, workshop, replaces)
