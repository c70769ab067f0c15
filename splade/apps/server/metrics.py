"""What Prometheus is told: how long, how many, how full, and how exact. No label holds text, a key or an address."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
POSITIONS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
ERRORS = (1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Bounds of the identity's error; the promise is 1e-4, and float32 gives some 1e-6."""

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The figures of one server; not of the process, so that two of them, as in a test, do not share any."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "lexical_sae_requests_total", "Requests by path and status.", ["path", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "lexical_sae_request_seconds",
            "From a request's first byte to its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._waited = Histogram(
            "lexical_sae_queue_seconds", "A request's wait for the model.", buckets=SECONDS, registry=self.registry
        )
        self._batch = Histogram(
            "lexical_sae_batch_seconds", "The model's work on a batch.", buckets=SECONDS, registry=self.registry
        )
        self._texts = Histogram("lexical_sae_batch_texts", "Texts of a batch.", buckets=TEXTS, registry=self.registry)
        self._positions = Histogram(
            "lexical_sae_batch_positions",
            "Positions of a batch, padding included.",
            buckets=POSITIONS,
            registry=self.registry,
        )
        self._errors = Histogram(
            "lexical_sae_identity_error",
            "Largest |sum of the words (tokens, parts of an effect) - logit| of each answer.",
            buckets=ERRORS,
            registry=self.registry,
        )
        self._encodings = Gauge(
            "lexical_sae_encodings",
            "Texts that were remembered or read, since the start.",
            ["model", "how"],
            registry=self.registry,
        )

    def watch_queue(self, texts: Callable[[], int]) -> None:
        """Where the length of the queue is asked for."""
        gauge = Gauge("lexical_sae_queue_texts", "Texts that wait for the model.", registry=self.registry)
        gauge.set_function(texts)

    def watch_encodings(self, model: str, how: str, count: Callable[[], int]) -> None:
        """Where it is asked how often a model remembered a text, or read it."""
        self._encodings.labels(model, how).set_function(count)

    def request(self, path: str, status: int, seconds: float) -> None:
        """A request was answered; `path` is the pattern of a route, and none that was asked for."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def waited(self, seconds: float) -> None:
        """A request came to the model."""
        self._waited.observe(seconds)

    def answered(self, texts: int, positions: int, seconds: float) -> None:
        """The model has answered a batch."""
        self._texts.observe(texts)
        self._positions.observe(positions)
        self._batch.observe(seconds)

    def sums(self, error: float) -> None:
        """An answer with sums was given."""
        self._errors.observe(error)

    def page(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
