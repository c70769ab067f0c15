"""Real servers on loopback: clients that leave, bodies that never come, and the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from splade.apps.server.limits import Limits
from splade.apps.server.process import Process, ServeSettings, listen, process_of
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from splade.errors import ConfigError
from tests.apps.server.conftest import HOST

PATIENCE = 60
"""Seconds after which something that should happen has not."""


@contextmanager
def running(server: Server) -> Iterator[tuple[int, Process]]:
    """A server on a free port of loopback, in a thread of this process."""
    with listen(ServeSettings(HOST, 0)) as listener:
        process = process_of(server, Access.of(HOST))
        thread = threading.Thread(target=process.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        eventually(lambda: process.started)
        try:
            yield listener.getsockname()[1], process
        finally:
            process.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


def eventually(happened: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def post(port: int, path: str, asked: Any, connection: HTTPConnection | None = None) -> tuple[int, Any]:
    connection = connection or HTTPConnection(HOST, port, timeout=PATIENCE)
    connection.request("POST", path, json.dumps(asked), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def get(port: int, path: str) -> int:
    connection = HTTPConnection(HOST, port, timeout=PATIENCE)
    connection.request("GET", path)
    return connection.getresponse().status


def half_a_request(port: int, *, body: bytes, length: int) -> socket.socket:
    """A connection on which a request has begun."""
    client = socket.create_connection((HOST, port), timeout=PATIENCE)
    head = (
        f"POST /predict HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    client.sendall(head.encode() + body)
    return client


def test_a_client_that_leaves_takes_its_question_along(served: list[ServedModel], hold: Callable[..., Any]) -> None:
    server = Server(served)
    with running(server) as (port, _), hold(server) as held, ThreadPoolExecutor(1) as pool:
        body = json.dumps({"texts": ["good", "bad"]}).encode()
        leaves = half_a_request(port, body=body, length=len(body))
        held.waiting(2)
        stays = pool.submit(post, port, "/predict", {"texts": ["a film"]})
        held.waiting(3)
        leaves.close()
        eventually(lambda: server.queue.texts == 1)
        held.release()
        status, answer = stays.result()
        assert status == 200 and answer["predictions"][0]["text"] == "a film"


def test_a_body_that_does_not_come_is_not_waited_for(served: list[ServedModel]) -> None:
    with running(Server(served, Limits(body_seconds=0.2))) as (port, _):
        with half_a_request(port, body=b'{"texts"', length=1000) as slow:
            assert b" 408 " in slow.recv(4096).split(b"\r\n")[0]
        half_a_request(port, body=b'{"texts"', length=1000).close()  # and one that leaves in the middle
        with half_a_request(port, body=b"", length=10**12) as huge:
            assert b" 413 " in huge.recv(4096).split(b"\r\n")[0]
        assert post(port, "/predict", {"texts": ["good"]})[0] == 200


def test_told_to_end_it_answers_what_it_has_taken(served: list[ServedModel], hold: Callable[..., Any]) -> None:
    server = Server(served)
    with running(server) as (port, process), hold(server) as held, ThreadPoolExecutor(2) as pool:
        kept = HTTPConnection(HOST, port, timeout=PATIENCE)
        kept.request("GET", "/ready")
        assert kept.getresponse().read() and get(port, "/health") == 200
        taken = pool.submit(post, port, "/predict", {"texts": ["good"]})
        held.waiting(1)
        process.handle_exit(signal.SIGTERM, None)
        assert server.draining
        held.release()
        status, answer = taken.result()
        assert status == 200 and answer["predictions"][0]["text"] == "good"
        eventually(lambda: not server.alive)
        with pytest.raises(OSError):
            get(port, "/health")


def test_many_at_a_time_are_all_answered_or_refused(served: list[ServedModel]) -> None:
    server = Server(served, Limits(queued_texts=4))
    with running(server) as (port, _), ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: post(port, "/explain", {"texts": [f"a good film number {n}"]}), range(80)))
    assert {status for status, _ in answers} <= {200, 429} and 200 in {status for status, _ in answers}
    for number, (status, answer) in enumerate(answers):
        if status == 200:
            assert answer["explanations"][0]["text"] == f"a good film number {number}"
        else:
            assert answer["error"]["code"] == "busy"


def test_the_command_serves_and_ends_well_on_sigterm(folders: dict[str, Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "splade",
        "serve",
        str(folders["words"]),
        f"tags={folders['names']}",
        "--port",
        "0",
    ]
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if "Serving" in line)
            assert "words, tags" in said
            port = int(said.split("127.0.0.1:")[1].split()[0])
            assert post(port, "/predict", {"texts": ["a SECRET film"]})[0] == 200
            assert post(port, "/tag", {"model": "tags", "texts": ["john"]})[0] == 200
            assert get(port, "/SECRET") == 404
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait(PATIENCE) == 0
            assert "SECRET" not in rest and "Traceback" not in rest
        finally:
            process.kill()


def test_a_port_that_is_taken_is_said(served: list[ServedModel]) -> None:
    with listen(ServeSettings(HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1, port {port}"):
            listen(ServeSettings(HOST, port))
