"""The model thread: all that touches a model runs here, one batch after another, and what has no hurry in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import torch

from splade.apps.server.batching import Job, JobQueue
from splade.apps.server.metrics import Metrics
from splade.apps.server.questions import Answer, Question
from splade.apps.server.served import ServedModel
from splade.tasks import TASKS

IDLE = 0.05
"""Seconds without a request after which a piece of the work that has no hurry is done."""


class ModelThread(threading.Thread):
    """Takes batches from the queue until the queue has ended and is empty."""

    def __init__(self, models: Sequence[ServedModel], queue: JobQueue, metrics: Metrics):
        super().__init__(name="model", daemon=True)
        self.models, self.queue, self.metrics = models, queue, metrics

    def run(self) -> None:
        with torch.no_grad():
            while not self.queue.ended:
                batch = self.queue.take(IDLE)
                if batch:
                    self._answer(batch)
                elif not self.queue.ended:
                    self._use_the_time()

    def _use_the_time(self) -> None:
        """A few test texts of the first model that has some left to read."""
        for served in self.models:
            if served.survey.step(served.model):
                return

    def _answer(self, batch: list[Job]) -> None:
        began = time.perf_counter()
        texts = sum(len(job.items) for job in batch)
        rows, longest = _shape(batch)
        size = max(1, self.queue.limits.batch_tokens // max(1, longest))
        by_question: dict[Question, list[Job]] = {}
        for job in batch:
            self.metrics.waited(began - job.entered)
            by_question.setdefault(job.question, []).append(job)
        if len(by_question) > 1:  # what is asked differs, what is read need not
            self._read_ahead(batch, size)
        for question, jobs in by_question.items():
            self._answer_one(question, jobs, size)
        seconds = time.perf_counter() - began
        self.queue.took(texts, seconds)
        self.metrics.answered(texts, rows * longest, seconds)

    def _read_ahead(self, batch: list[Job], size: int) -> None:
        """Read all texts of a batch at once, for the model to remember."""
        model = batch[0].served.model
        try:
            task = TASKS.get(model.task).from_texts([item for job in batch for item in job.items], model)
            for one in task.in_order(size, model.device):
                model(one.input_ids, one.attention_mask)
        except Exception:  # whoever's text it was is told by the answer to it alone
            return

    def _answer_one(self, question: Question, jobs: list[Job], size: int) -> None:
        """Answer equal questions together; where that fails, each alone, so that one text fails for itself."""
        items = [item for job in jobs for item in job.items]
        try:
            answers = question.answer(jobs[0].served, items, size)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(error)
                return
            for job in jobs:
                self._answer_one(question, [job], size)
            return
        self._observe(answers)
        for job in jobs:
            own, answers = answers[: len(job.items)], answers[len(job.items) :]
            job.answer.set_result(own)

    def _observe(self, answers: list[Answer]) -> None:
        for answer in answers:
            if answer.error is not None:
                self.metrics.sums(answer.error)


def _shape(batch: Sequence[Job]) -> tuple[int, int]:
    """Rows and length of a batch, padded."""
    lengths = [length for job in batch for length in job.lengths]
    return len(lengths), max(lengths, default=0)
