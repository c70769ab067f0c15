"""Who may ask: a known `Host`, no page of another origin, and with a key whoever has it.

A page of somebody else can make a browser send requests to this machine, and with a name of its own that points here
(DNS rebinding) even read the answers; such a request has that name as its `Host`, and is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from splade.apps.server.errors import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY = "*"
"""Allows every name, for a server that only lets in whoever has the key."""

PROBES = frozenset({"/health", "/ready"})
"""Asked by load balancers, by address and without a key; they say nothing of models or texts."""

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer: nothing inline, nothing from elsewhere, in nobody's frame."""


@dataclass(frozen=True)
class Access:
    """What a request must have."""

    hosts: frozenset[str]
    """Names by which the server may be called, in lower case and without ports."""
    key: bytes | None = None
    """SHA-256 of the API key; None: none is asked for."""

    @classmethod
    def of(cls, host: str, allowed: Collection[str] = (), key: str | None = None) -> Access:
        """Of a server that listens on `host`."""
        own = {host.lower()} if host and not _is_everywhere(host) else set()
        names = {*LOOPBACK, *own, *(name.lower() for name in allowed)}
        return cls(frozenset(names), None if key is None else _digest(key))

    def check_host(self, host: str) -> None:
        """Refuse a name that is not this server's."""
        if ANY not in self.hosts and host_name(host) not in self.hosts:
            raise Refusal(
                403,
                "forbidden_host",
                "The server is not called by this name; ask it by its own, or allow this one (--allow-host).",
            )

    def check_origin(self, origin: str | None, host: str) -> None:
        """Refuse a page that is not this server's own."""
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refusal(
                403, "forbidden_origin", "A page of another origin may not ask this server; open its own page."
            )

    def check_key(self, headers: Headers) -> None:
        """Refuse a request without the key, in the same time whatever it has in its place."""
        if self.key is None:
            return
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not hmac.compare_digest(_digest(given), self.key):
            raise Refusal(
                401,
                "unauthorized",
                "The server asks for its API key; send it as Authorization: Bearer KEY.",
                {"WWW-Authenticate": "Bearer"},
            )


class Guard:
    """Lets in what `Access` allows. `public`: paths of files that are no secret, which need no key."""

    def __init__(self, app: ASGIApp, access: Access, public: Collection[str]):
        self.app, self.access, self.public = app, access, frozenset(public)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        try:
            self.access.check_host(host)
            self.access.check_origin(headers.get("origin"), host)
            if scope["path"] not in self.public:
                self.access.check_key(headers)
        except Refusal as refusal:
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)


def host_name(host: str) -> str:
    """The name in a `Host`, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can come by an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
