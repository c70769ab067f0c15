"""The outermost layer: every answer has the security headers and is counted, and none is a traceback."""

from __future__ import annotations

import time
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from splade.apps.server.errors import COME_AGAIN, Refusal, refusal_of
from splade.apps.server.limits import Limits
from splade.apps.server.metrics import Metrics
from splade.apps.server.security import PROBES, SECURITY_HEADERS

NO_ROUTE = "other"
"""The path of what no route knows, in the metrics: what was asked for is not written down."""


class Shield:
    """Around the whole application; so many requests may be under way at a time."""

    def __init__(self, app: ASGIApp, metrics: Metrics, limits: Limits):
        self.app, self.metrics, self.limits = app, metrics, limits
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        self.under_way += 1
        try:
            await self._admitted(scope, receive, sealed)
        except Exception as error:
            refusal = refusal_of(error)
            if not status:
                await refusal(scope, receive, sealed)
        finally:
            self.under_way -= 1
            self.metrics.request(_route(scope), status, time.perf_counter() - began)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.under_way > self.limits.requests and scope["path"] not in PROBES:
            raise Refusal(
                429,
                "busy",
                f"{self.limits.requests} requests are under way, which is the most; come again in {COME_AGAIN} s.",
                {"Retry-After": COME_AGAIN},
            )
        await self.app(scope, receive, send)


def _route(scope: Scope) -> str:
    """The pattern of the route that answered."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", NO_ROUTE))
