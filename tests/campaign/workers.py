"""Cases in several processes at once, each with a time limit; a process that dies or hangs costs only its case."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import resource
import signal
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from tests.campaign.case import Case, Family, Result, carry_out, draw
from tests.campaign.verdicts import Outcome, Verdict
from tests.campaign.workshop import Workshop

MEMORY = 16 << 30  # address space of a worker: a damaged size must end in an error, not in the machine's memory
PATIENCE = 0.2  # seconds between two looks at the clock


@dataclass(eq=False)
class _Worker:
    """A process that runs one case after the other."""

    families: Mapping[str, Family]
    workshop: Workshop
    case: Case | None = None
    since: float = 0.0
    pipe: Connection = field(init=False)
    process: BaseProcess = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.families, self.workshop), daemon=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads; none of ours holds a lock
            self.process.start()
        other.close()

    def give(self, case: Case) -> None:
        self.case, self.since = case, time.monotonic()
        self.pipe.send(case)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since

    def stop(self) -> None:
        """End it and whatever it has started, which is in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, families: Mapping[str, Family], workshop: Workshop) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            os._exit(0)
        began = time.perf_counter()
        trial = draw(case, families[case.family], workshop)
        outcome = carry_out(trial, workshop)
        pipe.send(Result(case, trial.description, outcome, time.perf_counter() - began))


def run_all(
    cases: Iterable[Case], families: Mapping[str, Family], workshop: Workshop, jobs: int, until: float = float("inf")
) -> Iterator[Result]:
    """The results of all cases as they come; after `until` (of `time.monotonic`) no further case is begun."""
    waiting = deque(cases)
    workers = [_Worker(families, workshop) for _ in range(max(1, min(jobs, len(waiting))))]
    try:
        while True:
            for worker in workers:
                if worker.case is None and waiting and time.monotonic() < until:
                    worker.give(waiting.popleft())
            busy = {worker.pipe: worker for worker in workers if worker.case is not None}
            if not busy:
                return
            ready = {busy[pipe] for pipe in wait(list(busy), PATIENCE) if isinstance(pipe, Connection)}
            for number, worker in enumerate(workers):
                if worker.case is None:
                    continue
                result, alive = _look(worker, worker in ready)
                if result is not None:
                    yield result
                    worker.case = None
                if not alive:
                    worker.stop()
                    workers[number] = _Worker(families, workshop)
    finally:
        for worker in workers:
            worker.stop()


def _look(worker: _Worker, ready: bool) -> tuple[Result | None, bool]:
    """The result a worker has, if any, and whether it can go on."""
    case = worker.case
    assert case is not None
    limit = worker.families[case.family].limit
    if ready:
        try:
            return worker.pipe.recv(), True
        except (EOFError, ConnectionResetError):
            worker.process.join()
            outcome = Outcome(Verdict.TRACEBACK, f"the process died with exit code {worker.process.exitcode}")
    elif worker.seconds > limit:
        outcome = Outcome(Verdict.HUNG, f"no end after {limit:.0f} s")
    else:
        return None, True
    description = draw(case, worker.families[case.family], worker.workshop).description
    return Result(case, description, outcome, worker.seconds), False
