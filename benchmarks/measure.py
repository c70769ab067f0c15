"""Time and memory of rivals: each in a process of its own, all taking turns.

A machine's speed drifts with its heat and its other work. Rivals that run A B A B … meet the same weather, so a ratio
taken round by round holds even where the seconds do not. A process of its own keeps one rival's memory out of
another's figures.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import signal
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from splade.errors import LexicalSAEError

Work = Callable[[], dict[str, float]]
"""What is measured; returns facts about what it did, such as the active tokens a text."""

# Calls before the first measured one: they load kernels, start threads and fill the allocator's pools.
WARM_UP = 2

# Where the kernel says how much memory a process holds and has held.
STATUS = Path("/proc/self/status")

# Seconds a process is given to leave by itself before it is told to.
PATIENCE = 5.0


@dataclass(frozen=True)
class Rival:
    """One way of doing the job, built inside its own process with the inputs already in memory."""

    name: str
    build: Callable[..., Work]
    """A function of a module, so that a new process can import it."""
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """What one rival took."""

    name: str
    seconds: list[float]
    """A call each, in the order of the rounds."""
    growth_mb: float
    """The most memory held during a call over what was held before it, the inputs being there already."""
    peak_mb: float
    """The most memory of the whole process during a call, interpreter, libraries and model included."""
    facts: dict[str, float]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "best_s": self.best,
            "median_s": self.median,
            "growth_mb": self.growth_mb,
            "peak_mb": self.peak_mb,
            "facts": self.facts,
        }


@dataclass(frozen=True)
class Goal:
    """A figure and the bound it has to keep."""

    what: str
    value: float
    bound: float
    at_most: bool

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def to_json(self) -> dict[str, Any]:
        sign = "<=" if self.at_most else ">="
        return {"what": self.what, "value": self.value, "goal": f"{sign} {self.bound:g}", "met": self.met}


@dataclass(frozen=True)
class Result:
    """One benchmark: what was measured, under which setting, and what follows."""

    title: str
    setting: dict[str, Any]
    measurements: list[Measurement]
    goals: list[Goal]

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "setting": self.setting,
            "measurements": [each.to_json() for each in self.measurements],
            "goals": [each.to_json() for each in self.goals],
        }


def seconds_ratio(one: Measurement, other: Measurement) -> float:
    """How many times the other's seconds one takes: the median over rounds."""
    return statistics.median(a / b for a, b in zip(one.seconds, other.seconds, strict=True))


def compare(rivals: Sequence[Rival], rounds: int) -> dict[str, Measurement]:
    """Measure all rivals in turns, `rounds` times each, after a warm-up; memory in a call of its own at the end."""
    _check_system()
    with ExitStack() as stack:
        # All are started before the first is waited for: they import and build at the same time.
        processes = [stack.enter_context(_Process(rival)) for rival in rivals]
        for process in processes:
            process.answer()
        for process in processes:
            for _ in range(WARM_UP):
                process.ask("time")
        turns = [[process.ask("time") for process in processes] for _ in range(rounds)]
        measurements = {}
        for rival, process, seconds in zip(rivals, processes, zip(*turns, strict=True), strict=True):
            _, growth, peak, facts = process.ask("memory")
            measurements[rival.name] = Measurement(rival.name, list(seconds), growth, peak, facts)
        return measurements


def once(rivals: Sequence[Rival]) -> dict[str, Measurement]:
    """Each rival a single time and by itself, one after the other: for work that takes too long to be repeated."""
    _check_system()
    measurements = {}
    for rival in rivals:
        with _Process(rival) as process:
            process.answer()
            seconds, growth, peak, facts = process.ask("memory")
        measurements[rival.name] = Measurement(rival.name, [seconds], growth, peak, facts)
    return measurements


@contextmanager
def measuring(rival: Rival) -> Iterator[_Process]:
    """A rival, ready in its process, for a benchmark that takes turns of its own: `.ask("time")` gives seconds. It
    warms up by itself as it is built."""
    _check_system()
    with _Process(rival) as process:
        process.answer()
        yield process


def _check_system() -> None:
    if not STATUS.exists():
        raise LexicalSAEError(f"Memory is read from {STATUS}, which this system has not; run the benchmarks on Linux.")


class _Process:
    """A new process that holds one rival and calls it when asked."""

    def __init__(self, rival: Rival) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share the parent's memory and lock its threads
        self.name = rival.name
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(far_end, rival.build, rival.options), daemon=True)
        self.process.start()
        far_end.close()  # so that a process that dies is noticed as the end of the pipe

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with suppress(OSError):  # it may be gone already
            self.pipe.send(None)
        self.process.join(PATIENCE if kind is None else 0)
        self.process.terminate()
        self.process.join()

    def ask(self, order: str) -> Any:
        self.pipe.send(order)
        return self.answer()

    def answer(self) -> Any:
        try:
            reply = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise LexicalSAEError(
                f"The process that measures '{self.name}' ended without an answer, most likely for want of memory; "
                "close other programs and try again."
            ) from None
        if isinstance(reply, Exception):
            raise reply
        return reply


def _serve(pipe: Connection, build: Callable[..., Work], options: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    try:
        work = build(**options)
        pipe.send("ready")
        while (order := pipe.recv()) is not None:
            pipe.send({"time": _time, "memory": _memory}[order](work))
    except EOFError:  # the parent is gone
        return
    except LexicalSAEError as error:
        pipe.send(error)
    except Exception:  # whatever it is, the parent raises it again with this traceback
        pipe.send(RuntimeError(traceback.format_exc()))


def _time(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _memory(work: Work) -> tuple[float, float, float, dict[str, float]]:
    """Seconds, the memory added and the peak, both in MB, and what the work says of itself."""
    gc.collect()
    _return_free_memory()
    _reset_peak()
    before, start = _status_mb("VmRSS"), time.perf_counter()
    facts = work()
    seconds, peak = time.perf_counter() - start, _status_mb("VmHWM")
    return seconds, max(0.0, peak - before), peak, facts


def _return_free_memory() -> None:
    """Give the allocator's spare pages back; kept from the warm-up, they would hide what a call takes."""
    with suppress(OSError, AttributeError):  # another C library has another way, or none
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _reset_peak() -> None:
    """Start the peak afresh. Where the kernel refuses, the peak is that of the process, which did little else."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status_mb(key: str) -> float:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) / 1024
    raise LexicalSAEError(f"The file {STATUS} has no line '{key}', which memory is read from; use a Linux of today.")
