"""The queue before the model: bounded, first come first served, and handed out in batches of so many positions."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from splade.apps.server.errors import Refusal, too_large
from splade.apps.server.limits import Limits
from splade.apps.server.questions import Answer, Question
from splade.apps.server.served import ServedModel
from splade.tasks import TASKS

SLOWEST_COME_AGAIN = 30
"""Seconds that a refusal asks for at the most."""

PACE_WEIGHT = 0.2
"""Of the newest batch in the mean time a text takes."""

FIRST_PACE = 0.02
"""Seconds a text before any was read: a sentence, a small model, two cores."""


@dataclass(eq=False)
class Job:
    """One request's question to one model."""

    served: ServedModel
    question: Question
    items: Sequence[Any]
    """Texts, as `Task.given` has checked them."""
    answer: Future[list[Answer]] = field(default_factory=Future)
    entered: float = field(default_factory=time.perf_counter)

    @cached_property
    def lengths(self) -> list[int]:
        """(W,) pieces of each text, of a long one to be tagged of each of its windows. Asked by the model thread
        alone: a tokenizer is not for two threads."""
        model = self.served.model
        lengths: list[int] = TASKS.get(model.task).from_texts(self.items, model).encoded.lengths.tolist()
        return lengths


class JobQueue:
    """Jobs that wait; whoever submits does so from any thread, and one thread takes."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self.pace = FIRST_PACE
        """Seconds that a text takes, in the mean of late."""

    @property
    def texts(self) -> int:
        """How many wait."""
        return sum(len(job.items) for job in tuple(self._jobs))

    def submit(self, job: Job) -> None:
        """Put a job at the end, or refuse it; one alone always finds room."""
        with self._changed:
            if self._ended:
                raise draining()
            waiting = self.texts
            if waiting and waiting + len(job.items) > self.limits.queued_texts:
                raise self._busy(waiting)
            self._jobs.append(job)
            self._changed.notify()

    def forget(self, job: Job) -> None:
        """Take out a job whose answer nobody waits for any more."""
        job.answer.cancel()
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)

    def end(self) -> None:
        """Take no more jobs; those that wait are still handed out."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """Whether there is nothing to come any more."""
        return self._ended and not self._jobs

    def take(self, wait: float) -> list[Job]:
        """The jobs of one batch, all for one model, in the order in which they came; none after `wait` seconds without
        any. Whoever takes them must answer them."""
        with self._changed:
            if not self._jobs and not self._ended:
                self._changed.wait(wait)
        batch: list[Job] = []
        rows = longest = 0
        while (job := self._next(batch)) is not None:
            lengths = self._measured(job)
            if lengths is None:
                continue
            rows, longest = rows + len(lengths), max([longest, *lengths])
            if batch and rows * longest > self.limits.batch_tokens:
                self._put_back(job)
                break
            batch.append(job)
        return [job for job in batch if job.answer.set_running_or_notify_cancel()]

    def _next(self, batch: Sequence[Job]) -> Job | None:
        """The first job that waits, if it is for the model of the batch."""
        with self._changed:
            while self._jobs:
                if batch and self._jobs[0].served is not batch[0].served:
                    return None
                job = self._jobs.popleft()
                if not job.answer.cancelled():
                    return job
            return None

    def _put_back(self, job: Job) -> None:
        with self._changed:
            self._jobs.appendleft(job)

    def _measured(self, job: Job) -> list[int] | None:
        """The lengths of a job's texts; None: it is answered already, by a refusal."""
        try:
            lengths = job.lengths
            if sum(lengths) > self.limits.tokens:
                raise too_large(
                    f"The texts of the request have {sum(lengths):,} pieces of words as the model reads them, and "
                    f"{self.limits.tokens:,} is the most; send fewer or shorter texts."
                )
        except Exception as error:
            if job.answer.set_running_or_notify_cancel():
                job.answer.set_exception(error)
            return None
        return lengths

    def took(self, texts: int, seconds: float) -> None:
        """Learn how long a batch took."""
        if texts:
            self.pace += PACE_WEIGHT * (seconds / texts - self.pace)

    def _busy(self, waiting: int) -> Refusal:
        seconds = min(SLOWEST_COME_AGAIN, max(1, math.ceil(waiting * self.pace)))
        return Refusal(
            429,
            "busy",
            f"{waiting} texts are waiting, and {self.limits.queued_texts} is the most; come again in {seconds} s.",
            {"Retry-After": str(seconds)},
        )


def draining() -> Refusal:
    """The server takes nothing new."""
    return Refusal(
        503, "draining", "The server is ending and takes nothing new; ask another or later.", {"Retry-After": "5"}
    )
