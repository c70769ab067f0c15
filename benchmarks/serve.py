"""The server under load, on loopback alone: throughput beside plain batched prediction, latency, refusals, what-ifs.

One process predicts, one serves, and this one asks; they take turns, so that each has the machine. The model is
untrained with calibrated thresholds, and reads in float32. No text is asked twice, so that none is remembered.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.explain import ACTIVE, BATCH, sentences, untrained
from benchmarks.measure import Goal, Measurement, Result, Rival, Work, measuring
from splade.apps.server.limits import Limits
from splade.apps.server.process import ServeSettings, listen, serve
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel
from splade.errors import LexicalSAEError
from splade.inference import predict

HOST = "127.0.0.1"
CONNECTIONS = (8, 64)
REQUESTS = 2_000
LEAST_THROUGHPUT = 0.7
"""Of plain batched prediction."""
MOST_HEALTH_MS = 50.0
OVERLOAD = 4
"""Times what the server can do, asked for during OVERLOAD_SECONDS."""
OVERLOAD_SECONDS = 10.0
MOST_WHAT_IF_MS = 50.0
WHAT_IFS = 50
WORDS = 30
LONGEST_RUN = 600.0
"""Seconds after which a load is given up."""


def build_prediction(texts: Sequence[str], backbone: str) -> Work:
    """Plain batched prediction of all texts, in float32."""
    model = untrained(texts[: 8 * BATCH], backbone, dtype="float32")
    predict(model, texts[: 2 * BATCH], batch_size=BATCH)  # loads kernels and starts threads

    def work() -> dict[str, float]:
        for start in range(0, len(texts), BATCH):
            predict(model, texts[start : start + BATCH], batch_size=BATCH)
        return {"texts": len(texts)}

    return work


def serving(port: Connection, texts: Sequence[str], backbone: str) -> None:
    """A process that serves until it is told to end; says at which port."""
    model = untrained(texts[: 8 * BATCH], backbone, dtype="float32")
    limits = Limits()
    with listen(ServeSettings(HOST, 0)) as listener:
        port.send(listener.getsockname()[1])
        serve([ServedModel.plain("model", model, limits.encodings_bytes)], Access.of(HOST), limits, listener)


class Client:
    """One connection."""

    def __init__(self, port: int):
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: Any = None) -> tuple[int, bytes, float]:
        """Status, body and seconds."""
        began = time.perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self.port)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.split(b"content-length:")[1].split(b"\r\n")[0])
        found = await reader.readexactly(length)
        return int(answer.split(b" ")[1]), found, time.perf_counter() - began

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def load(port: int, texts: Sequence[str], connections: int) -> tuple[float, list[float], list[int]]:
    """Seconds for all texts, one a request, each connection asking on as soon as it is answered; the seconds and the
    status of each."""
    waiting = iter(texts)
    taken: list[float] = []
    statuses: list[int] = []

    async def asks() -> None:
        client = Client(port)
        for text in waiting:
            status, _, seconds = await client.ask("/explain", {"texts": [text]})
            taken.append(seconds)
            statuses.append(status)
        await client.close()

    began = time.perf_counter()
    await asyncio.wait_for(asyncio.gather(*(asks() for _ in range(connections))), LONGEST_RUN)
    return time.perf_counter() - began, taken, statuses


async def overload(port: int, texts: Sequence[str], rate: float) -> tuple[list[float], list[int]]:
    """The seconds of `/health` while `rate` requests a second come, and what these were answered with."""
    ends = time.perf_counter() + OVERLOAD_SECONDS
    statuses: list[int] = []
    health: list[float] = []

    free: list[Client] = []

    async def one(text: str) -> None:
        client = free.pop() if free else Client(port)
        statuses.append((await client.ask("/explain", {"texts": [text]}))[0])
        free.append(client)

    async def asks() -> None:
        """Whether or not the others are answered, as the world asks."""
        under_way, asked = [], 0
        began = time.perf_counter()
        while time.perf_counter() < ends:
            while asked < rate * (time.perf_counter() - began):
                under_way.append(asyncio.create_task(one(f"{texts[asked % len(texts)]} {asked}")))
                asked += 1
            await asyncio.sleep(0.005)
        await asyncio.gather(*under_way)
        for client in free:
            await client.close()

    async def probes() -> None:
        client = Client(port)
        while time.perf_counter() < ends:
            health.append((await client.ask("/health"))[2])
            await asyncio.sleep(0.05)
        await client.close()

    await asyncio.wait_for(asyncio.gather(probes(), asks()), LONGEST_RUN)
    return health, statuses


async def what_ifs(port: int, texts: Sequence[str]) -> tuple[list[float], list[float]]:
    """Seconds of the first explanation of each text, and of a what-if on it, one after the other."""
    client = Client(port)
    explained, removed = [], []
    for text in texts:
        _, found, seconds = await client.ask("/explain", {"texts": [text]})
        explained.append(seconds)
        tokens = json.loads(found)["explanations"][0]["tokens"]
        named = [token["token"] for token in tokens if token["position"] >= 0][:1]
        _, found, seconds = await client.ask("/suppress", {"text": text, "shut": named})
        if not json.loads(found)["head_only"]:
            raise LexicalSAEError("A what-if ran the backbone, which it should not; look at the server's cache.")
        removed.append(seconds)
    await client.close()
    return explained, removed


async def resident_mb(port: int) -> float:
    """Memory of the server."""
    client = Client(port)
    page = (await client.ask("/metrics"))[1].decode()
    await client.close()
    return float(page.split("\nprocess_resident_memory_bytes ")[1].split("\n")[0]) / 2**20


def run(rounds: int = 3, requests: int = REQUESTS, backbone: str = "minilm") -> list[Result]:
    """Prediction and every number of connections in turns, then the overload and the what-ifs."""
    some = sentences(min(requests, 2_000))
    texts = [f"{some[n % len(some)]} {n}" for n in range(requests)]  # none twice
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serving, args=(there, some, backbone))
    server.start()
    try:
        with measuring(Rival("prediction", build_prediction, {"texts": texts, "backbone": backbone})) as prediction:
            port = here.recv()
            return _measured(port, prediction, texts, rounds)
    finally:
        server.terminate()
        server.join(30)
        server.kill()


def _measured(port: int, prediction: Any, texts: Sequence[str], rounds: int) -> list[Result]:
    idle = asyncio.run(resident_mb(port))
    plain: list[float] = []
    served: dict[int, list[float]] = {connections: [] for connections in CONNECTIONS}
    taken: dict[int, list[float]] = {connections: [] for connections in CONNECTIONS}
    errors = 0
    asyncio.run(load(port, texts[: 2 * BATCH], CONNECTIONS[0]))  # the same for the server
    for number in range(rounds):
        plain.append(prediction.ask("time"))
        for connections in CONNECTIONS:
            others = [f"{text} {number} {connections}" for text in texts]
            seconds, latencies, statuses = asyncio.run(load(port, others, connections))
            served[connections].append(seconds)
            taken[connections] += latencies
            errors += sum(status not in (200, 429) for status in statuses)
    capacity = max(len(texts) / statistics.median(seconds) for seconds in served.values())
    loaded = asyncio.run(resident_mb(port))
    health, statuses = asyncio.run(overload(port, texts, OVERLOAD * capacity))
    errors += sum(status not in (200, 429) for status in statuses)
    long = [" ".join(f"{text} {text} {text} {text}".split()[:WORDS]) for text in texts[:WHAT_IFS]]
    explained, removed = asyncio.run(what_ifs(port, long))
    measurements = [
        Measurement("plain batched prediction", plain, 0.0, 0.0, {"per_second": len(texts) / statistics.median(plain)})
    ]
    for connections in CONNECTIONS:
        facts = {
            "per_second": len(texts) / statistics.median(served[connections]),
            "p50_ms": _ms(taken[connections], 50),
            "p95_ms": _ms(taken[connections], 95),
        }
        name = f"/explain, {connections} connections"
        measurements.append(Measurement(name, served[connections], loaded - idle, loaded, facts))
    for name, latencies in (
        ("first /explain of 30 words", explained),
        ("/suppress of it", removed),
        ("/health, overload", health),
    ):
        facts = {"p50_ms": _ms(latencies, 50), "p95_ms": _ms(latencies, 95)}
        measurements.append(Measurement(name, latencies, 0.0, 0.0, facts))
    ratios = {
        connections: statistics.median(a / b for a, b in zip(plain, served[connections], strict=True))
        for connections in CONNECTIONS
    }
    goals = [
        *(
            Goal(f"throughput of {n} connections, of prediction's", ratio, LEAST_THROUGHPUT, False)
            for n, ratio in ratios.items()
        ),
        Goal(f"/health at {OVERLOAD} times capacity, p95 in ms", _ms(health, 95), MOST_HEALTH_MS, True),
        Goal("a what-if, p50 in ms", _ms(removed, 50), MOST_WHAT_IF_MS, True),
        Goal(
            "a what-if, times the first /explain", statistics.median(removed) / statistics.median(explained), 1.0, True
        ),
        Goal("answers that were neither 200 nor 429", float(errors), 0.0, True),
    ]
    refused = sum(status == 429 for status in statuses)
    setting = {
        "requests": f"{len(texts):,} packaged review sentences, one each",
        "rounds": rounds,
        "overload": f"{len(statuses):,} requests in {OVERLOAD_SECONDS:g} s, {refused:,} refused",
        "memory idle": f"{idle:.0f} MB",
        "active tokens aimed at": ACTIVE,
    }
    return [Result("The server under load", setting, measurements, goals)]


def _ms(seconds: Sequence[float], percentile: float) -> float:
    return 1000 * float(np.percentile(list(seconds), percentile))
