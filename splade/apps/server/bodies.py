"""Bodies of requests: bounded in bytes and time, JSON in strict UTF-8, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from splade.apps.server.errors import Refusal, too_large
from splade.apps.server.limits import MEGABYTE, Limits

JSON = "application/json"


class StrictRequest(Request):
    """A request whose body is read once, within limits."""

    @property
    def limits(self) -> Limits:
        limits: Limits = self.app.state.server.limits
        return limits

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            try:
                self._body = await asyncio.wait_for(self._bounded(), self.limits.body_seconds)
            except asyncio.TimeoutError:
                raise Refusal(
                    408,
                    "body_timeout",
                    f"The body did not arrive within {self.limits.body_seconds:g} s; send it again.",
                    {"Connection": "close"},
                ) from None
        return self._body

    async def _bounded(self) -> bytes:
        most, declared = self.limits.body_bytes, self.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most:
            raise self._too_large()
        parts, size = [], 0
        async for part in self.stream():
            parts.append(part)
            size += len(part)
            if size > most:
                raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> Refusal:
        most = self.limits.body_bytes / MEGABYTE
        refusal = too_large(f"The body has more than {most:g} MB, which is the most; send fewer texts at a time.")
        refusal.headers = {"Connection": "close"}  # what is still to come is not waited for
        return refusal

    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            reason = str(error).split(" at line ")[0]
            raise Refusal(400, "malformed_json", f"The body is no JSON in UTF-8 ({reason}); correct it.") from None


class StrictRoute(APIRoute):
    """A route whose requests are `StrictRequest`s."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            if request.method == "POST":
                kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind != JSON:
                    raise Refusal(
                        415, "unsupported_media_type", f"The body is not declared as JSON; send Content-Type: {JSON}."
                    )
            return await answer(StrictRequest(request.scope, request.receive))

        return strictly
