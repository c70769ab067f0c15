"""A server as a process: where it listens, whom it lets in, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from splade.apps.server.app import create_app
from splade.apps.server.limits import Limits
from splade.apps.server.security import ANY, Access, is_loopback
from splade.apps.server.served import ServedModel, load, named_folders
from splade.apps.server.server import Server
from splade.errors import ConfigError
from splade.utils.cuda import Precision

KEY = "LEXICAL_SAE_API_KEY"
"""The variable of the environment that holds the API key; not an argument, which every process could read."""

SHORTEST_KEY = 16
"""Characters of a key that cannot be guessed in a lifetime."""

KEEP_ALIVE = 30
"""Seconds that a connection may be silent between requests."""

WAITING_CONNECTIONS = 512
"""That the system holds before the server has accepted them."""


@dataclass(frozen=True)
class ServeSettings:
    """How a server is run."""

    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    key_file: Path | None = None
    precision: Precision = "float32"
    """Float32, so that no answer depends on what else is asked."""
    data: bool = True
    """Whether the test texts of the models' runs may be read and shown."""
    limits: Limits = field(default_factory=Limits)


def api_key(file: Path | None) -> str | None:
    """The key of a file or of the environment; None: there is none."""
    if file is None:
        key = os.environ.get(KEY, "").strip()
    else:
        try:
            key = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or "it is no UTF-8 text"
            raise ConfigError(f"The API key cannot be read from {file} ({said}); name a file that holds it.") from None
        if not key:
            raise ConfigError(f"The file {file} holds no API key; write one into it.")
    if not key.isascii():
        raise ConfigError("The API key has characters beyond ASCII, which headers cannot hold; choose another.")
    if key and len(key) < SHORTEST_KEY:
        raise ConfigError(
            f"The API key has {len(key)} characters, and at least {SHORTEST_KEY} are needed; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return key or None


def access_for(settings: ServeSettings) -> Access:
    """Whom a server lets in; one that others can reach must have a key."""
    key = api_key(settings.key_file)
    if key is None and not is_loopback(settings.host):
        raise ConfigError(
            f"To listen on {settings.host}, where others can reach it, the server needs an API key; set {KEY}, or name "
            "a file that holds it with --key-file."
        )
    if key is None and ANY in settings.allowed_hosts:
        raise ConfigError(f"--allow-host {ANY} lets any page reach the server, which then needs an API key; set {KEY}.")
    return Access.of(settings.host, settings.allowed_hosts, key)


def listen(settings: ServeSettings) -> socket.socket:
    """A socket at the place asked for."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(WAITING_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        said = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"The server cannot listen on {settings.host}, port {settings.port} ({said}); choose another with --port "
            "or --host."
        ) from None
    return listener


def run(models: Sequence[str], settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serve models, each `FOLDER` or `NAME=FOLDER`, until the process is told to end."""
    folders, access = named_folders(models), access_for(settings)
    with listen(settings) as listener:
        served = [
            load(name, folder, settings.precision, settings.limits.encodings_bytes, data=settings.data)
            for name, folder in folders.items()
        ]
        host, port = listener.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        say(f"Serving {', '.join(folders)} on http://{where}:{port} (Ctrl-C ends it).")
        serve(served, access, settings.limits, listener)


def serve(models: Sequence[ServedModel], access: Access, limits: Limits, listener: socket.socket) -> None:
    """Answer on a socket until the process is told to end."""
    process = process_of(Server(models, limits), access)
    process.run(sockets=[listener])
    if process.interrupted:
        raise KeyboardInterrupt


def process_of(server: Server, access: Access) -> Process:
    """A server, ready to run."""
    config = uvicorn.Config(
        create_app(server, access),
        log_config=None,
        access_log=False,  # whoever asks, and what for, is nobody's business
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(server.limits.drain_seconds),
    )
    return Process(config, server)


class Process(uvicorn.Server):
    """Told to end, it takes nothing new, answers what it has taken, and ends well."""

    def __init__(self, config: uvicorn.Config, server: Server):
        super().__init__(config)
        self.server = server
        self.interrupted = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but a signal that was heeded is not raised once more at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.server.draining = True
        self.interrupted = self.interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)
