"""The load that the benchmark puts on a server: every request is answered or refused, and counted."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks import serve
from splade.apps.server.limits import Limits
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from tests.apps.server.test_process import running
from tests.builders import toy_reviews


def test_the_benchmarks_load_is_answered(served: list[ServedModel], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "OVERLOAD_SECONDS", 0.5)
    texts = [f"{text} {number}" for number, text in enumerate(toy_reviews(20)[0])]
    with running(Server(served, Limits(queued_texts=2))) as (port, _):
        seconds, taken, statuses = asyncio.run(serve.load(port, texts, 4))
        assert seconds > 0 and len(taken) == len(statuses) == len(texts) and set(statuses) <= {200, 429}
        health, refused = asyncio.run(serve.overload(port, texts, 400.0))
        assert health and set(refused) <= {200, 429}
        explained, removed = asyncio.run(serve.what_ifs(port, ["a good film with a dull plot"]))
        assert len(explained) == len(removed) == 1
        assert asyncio.run(serve.resident_mb(port)) > 10
