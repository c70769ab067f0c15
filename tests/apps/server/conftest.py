"""Servers over tiny models, asked in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from splade.apps.server.app import create_app
from splade.apps.server.limits import MEGABYTE
from splade.apps.server.model_thread import IDLE
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel, load
from splade.apps.server.server import Server
from tests.builders import build_model

HOST = "127.0.0.1"


def ask(server: Server, access: Access | None = None) -> TestClient:
    """A client of a server; to be entered, so that the server starts."""
    app = create_app(server, access or Access.of(HOST))
    return TestClient(app, base_url=f"http://{HOST}:8000", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saved models: `words` and `pieces` (byte-level, attention pooling) classify, `names` tags."""
    folder = tmp_path_factory.mktemp("served")
    made: dict[str, dict[str, Any]] = {
        "words": {"classes": 3},
        "pieces": {"family": "roberta", "pooling": "attention"},
        "names": {"task": "tagging", "support": "dictionary"},
    }
    for name, settings in made.items():
        build_model(folder, **settings).save_pretrained(folder / name)
    return {name: folder / name for name in made}


@pytest.fixture(scope="session")
def served(folders: dict[str, Path]) -> list[ServedModel]:
    """The three, loaded; shared, since nothing that is asked of them changes them."""
    return [load(name, folder, "float32", MEGABYTE, data=False) for name, folder in folders.items()]


@pytest.fixture(scope="module")
def server(served: list[ServedModel]) -> Server:
    return Server(served)


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[TestClient]:
    """Of all three; `words` is the default."""
    with ask(server) as client:
        yield client


class Held:
    """A model that does not begin before everybody has asked."""

    def __init__(self, server: Server):
        self.server, self.gate = server, threading.Event()
        self._take = server.queue.take
        server.queue.take = self._wait  # type: ignore[method-assign]

    def _wait(self, seconds: float) -> Any:
        self.gate.wait()
        return self._take(seconds)

    def release(self) -> None:
        self.gate.set()

    def waiting(self, texts: int) -> None:
        """Until so many texts are in the queue."""
        while self.server.queue.texts < texts:
            time.sleep(0.005)

    def together(self, post: Callable[[str], Any], texts: Sequence[str]) -> list[Any]:
        """The answers to all of them, asked before the model looks at any."""
        with ThreadPoolExecutor(len(texts)) as pool:
            asked = [pool.submit(post, text) for text in texts]
            self.waiting(len(texts))
            self.release()
            return [one.result() for one in asked]


@pytest.fixture
def hold() -> Callable[[Server], Any]:
    """Within, a server's model waits; to be entered once the server has started, whose thread is then in its first
    wait for a job."""

    @contextmanager
    def holding(server: Server) -> Iterator[Held]:
        held = Held(server)
        time.sleep(3 * IDLE)  # the wait that was under way is over
        try:
            yield held
        finally:
            held.release()

    return holding
