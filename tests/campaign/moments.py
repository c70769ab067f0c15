"""When a run is killed: at a share of its time, or, exactly and repeatably, before its n-th change of the disk."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.campaign.cli import Ran, Running, start, start_cold
from tests.campaign.workshop import Workshop

SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGINT twice": signal.SIGINT}
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")
WRITES = 120  # changes of the disk in a run of the workshop's, about; a later moment is after the end
COLD_LIFE = 14.0  # seconds from the start of the interpreter to the end of a run, about
FIRST_MOMENT = 0.1  # seconds; before, the interpreter has not yet got to the program
SECOND_SIGNAL = 0.15  # seconds after the first


@dataclass(frozen=True)
class Moment:
    """A signal and when it comes."""

    how: str
    signal: str
    share: float

    def __str__(self) -> str:
        if self.how == "write":
            return f"{self.signal} before write {int(self.share * WRITES)}"
        return f"{self.signal} at {self.share:.0%} of {'a cold start' if self.how == 'cold' else 'the run'}"

    @property
    def number(self) -> int:
        return SIGNALS[self.signal]

    def interrupt(self, arguments: list[str], log: Path, workshop: Workshop) -> tuple[Ran, Running]:
        """Start the command and send it the signal at this moment; how it ended."""
        if self.how == "write":
            running = start(arguments, log, lambda: at_write(int(self.share * WRITES), self._strike))
        else:
            running = (start_cold if self.how == "cold" else start)(arguments, log)
            life = COLD_LIFE if self.how == "cold" else workshop.run_seconds
            time.sleep(FIRST_MOMENT * (self.how == "cold") + self.share * life)
            running.kill(self.number)
            if "twice" in self.signal:
                time.sleep(SECOND_SIGNAL)
                running.kill(self.number)
        return running.ended(), running

    def _strike(self) -> None:
        os.kill(os.getpid(), self.number)
        if "twice" in self.signal:
            os.kill(os.getpid(), self.number)


def draw_moment(rng: Random) -> Moment:
    """Half at a write, half at a time; one in twenty of a cold start, which takes ten times as long."""
    how = rng.choices(["write", "time", "cold"], [0.5, 0.45, 0.05])[0]
    return Moment(how, rng.choice(list(SIGNALS)), round(rng.uniform(0, 1.08), 3))


def at_write(count: int, strike: Callable[[], None]) -> None:
    """From now on, call `strike` before this process changes the disk for the `count`-th time."""
    left = count

    def watch(event: str, details: tuple[object, ...]) -> None:
        nonlocal left
        if event == "open":
            writes = isinstance(details[2], int) and details[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not writes or str(details[0]).startswith(("/dev/", "/proc/")):
                return
        elif event not in CHANGES:
            return
        left -= 1
        if left == 0:
            strike()

    sys.addaudithook(watch)
