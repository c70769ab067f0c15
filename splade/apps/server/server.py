"""What a running server is made of: its models, their queue and thread, its limits, and how a question is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response

from splade.apps.server.batching import Job, JobQueue
from splade.apps.server.errors import COME_AGAIN, Refusal, refusal_of
from splade.apps.server.limits import Limits
from splade.apps.server.metrics import Metrics
from splade.apps.server.model_thread import ModelThread
from splade.apps.server.questions import Answer, Question
from splade.apps.server.served import Models, ServedModel

LOOK_AFTER = 0.25
"""Seconds after which it is looked whether somebody still waits for an answer."""

CLIENT_GONE = 499
"""The status, seen in the metrics alone, of a request whose client did not wait; as nginx writes it."""


class Server:
    """One server; it begins with `start` and ends with `drain`."""

    def __init__(self, models: Sequence[ServedModel], limits: Limits | None = None):
        self.models, self.limits, self.metrics = Models(models), limits or Limits(), Metrics()
        self.queue = JobQueue(self.limits)
        self.draining = False
        self._thread = ModelThread(models, self.queue, self.metrics)
        self.metrics.watch_queue(lambda: self.queue.texts)
        for one in models:
            self.metrics.watch_encodings(one.name, "read", lambda model=one.model: model.read)  # type: ignore[misc]
            self.metrics.watch_encodings(one.name, "remembered", lambda model=one.model: model.found)  # type: ignore[misc]

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the model answers."""
        return self._thread.is_alive()

    def drain(self) -> None:
        """Answer what waits, and end."""
        self.draining = True
        self.queue.end()
        self._thread.join(self.limits.drain_seconds)

    async def ask(self, request: Request, served: ServedModel, question: Question, texts: Sequence[Any]) -> list[Any]:
        """The answers to a question on some texts, once the model has come to it."""
        job = Job(served, question, served.given(texts))
        self.queue.submit(job)
        waiting, deadline = asyncio.wrap_future(job.answer), time.monotonic() + self.limits.answer_seconds
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=LOOK_AFTER)
                if not waiting.done() and await request.is_disconnected():
                    raise Refusal(CLIENT_GONE, "client_gone", "Nobody waits for the answer.")
                if not waiting.done() and time.monotonic() > deadline:
                    raise self._timeout()
            answers: list[Answer] = waiting.result()
        finally:
            if not waiting.done():
                self.queue.forget(job)
                waiting.cancel()
        return [answer.json for answer in answers]

    def _timeout(self) -> Refusal:
        return Refusal(
            503,
            "timeout",
            f"The answer took more than {self.limits.answer_seconds:g} s; send fewer or shorter texts, or come again.",
            {"Retry-After": COME_AGAIN},
        )


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    server: Server = request.app.state.server
    return server


def answered(value: Any) -> Response:
    """A result as JSON, in ASCII, so that no encoding can go wrong on its way."""
    try:
        content = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:  # a number that is none
        raise refusal_of(error) from None
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-store"})
