"""Every case in a process of its own, some at once: none sees what another has left, and one that dies dies alone."""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import os
import resource
import signal
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait

from tests.campaign.case import Case, Family, Result, carry_out, draw
from tests.campaign.verdicts import Outcome, Verdict
from tests.campaign.workshop import Workshop

MEMORY = 16 << 30  # address space of a case: a damaged size must end in an error, not in the machine's memory
PATIENCE = 0.2  # seconds between two looks at the clock

_FORK = multiprocessing.get_context("fork")


class _Attempt:
    """A case under way."""

    def __init__(self, case: Case, family: Family, workshop: Workshop) -> None:
        self.case, self.family, self.workshop, self.began = case, family, workshop, time.monotonic()
        self.pipe, other = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(target=_run, args=(other, case, family, workshop))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads; none of ours holds a lock
            self.process.start()
        other.close()

    def look(self, ready: bool) -> Result | None:
        """Its result, if it has ended in any way."""
        seconds = time.monotonic() - self.began
        if ready:
            with contextlib.suppress(EOFError):
                return self.pipe.recv()
            self.process.join()
            outcome = Outcome(Verdict.TRACEBACK, f"the process died with exit code {self.process.exitcode}")
        elif seconds > self.family.limit:
            outcome = Outcome(Verdict.HUNG, f"no end after {self.family.limit:g} s")
        else:
            return None
        return Result(self.case, draw(self.case, self.family, self.workshop).description, outcome, seconds)

    def end(self) -> None:
        """End it and whatever it has started, which is in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()
        self.pipe.close()


def _run(pipe: Connection, case: Case, family: Family, workshop: Workshop) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    trial = draw(case, family, workshop)
    outcome = carry_out(trial, workshop)
    pipe.send(Result(case, trial.description, outcome, time.perf_counter() - began))
    os._exit(0)


def run_all(
    cases: Iterable[Case], families: Mapping[str, Family], workshop: Workshop, jobs: int, until: float = float("inf")
) -> Iterator[Result]:
    """The results of all cases as they come; after `until` (of `time.monotonic`) no further case is begun."""
    gc.freeze()  # what is here now is shared with every fork, and not copied for the sake of counting it
    waiting, attempts = deque(cases), list[_Attempt]()
    try:
        while True:
            while waiting and len(attempts) < jobs and time.monotonic() < until:
                case = waiting.popleft()
                attempts.append(_Attempt(case, families[case.family], workshop))
            if not attempts:
                return
            ready = wait([attempt.pipe for attempt in attempts], PATIENCE)
            for attempt in list(attempts):
                if (result := attempt.look(attempt.pipe in ready)) is not None:
                    attempts.remove(attempt)
                    attempt.end()
                    yield result
    finally:
        for attempt in attempts:
            attempt.end()
