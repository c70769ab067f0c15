"""Refusals: whatever goes wrong is one sentence in one shape, `{"error": {"status", "code", "message"}}`."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from splade.apps.server.requests import KEYS
from splade.errors import ConfigError, DataError, nearest, shown
from splade.utils.one_line import one_line

log = logging.getLogger(__name__)

WHOLE = "The body"
"""What has no name of its own."""

COME_AGAIN = "1"
"""Seconds after which whoever was refused for a moment may come again."""


class Refusal(HTTPException):
    """An answer that is no result. An `HTTPException`, so that it passes through FastAPI from wherever it is raised."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None):
        super().__init__(status, message, dict(headers or {}))
        self.code = code

    def response(self) -> JSONResponse:
        error = {"status": self.status_code, "code": self.code, "message": one_line(self.detail)}
        headers = {"Cache-Control": "no-store", **(self.headers or {})}
        return JSONResponse({"error": error}, self.status_code, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with it."""
        await self.response()(scope, receive, send)


def invalid(message: str) -> Refusal:
    """A field that cannot be taken as it is."""
    return Refusal(422, "invalid_request", message)


def too_large(message: str) -> Refusal:
    """More than a limit."""
    return Refusal(413, "too_large", message)


def internal() -> Refusal:
    """A mistake of the server's own; what it was is in the log, and nowhere else."""
    return Refusal(
        500, "internal", "The server made a mistake of its own, which is in its log; report it to whoever runs it."
    )


def refusal_of(error: Exception) -> Refusal:
    """What to answer where a question could not be answered: a user's mistake says what it was."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ConfigError | DataError):
        return invalid(str(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    log.error("An answer failed: %s%s", type(error).__name__, place)  # without its words: they may hold the text
    return internal()


def install(app: FastAPI) -> None:
    """Give every refusal of an app the one shape."""

    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return refusal_of(error).response()

    async def refuse_plain(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return _named(error, request).response()

    async def refuse_invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return _first_of(error).response()

    app.add_exception_handler(Exception, refuse)
    app.add_exception_handler(HTTPException, refuse_plain)
    app.add_exception_handler(RequestValidationError, refuse_invalid)


def _named(error: HTTPException, request: Request) -> Refusal:
    """The framework's own refusals, in words."""
    if isinstance(error, Refusal):
        return error
    if error.status_code == HTTPStatus.NOT_FOUND:
        return Refusal(404, "not_found", "There is nothing here; /docs lists what there is.")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(_methods(request, (error.headers or {}).get("Allow", "")))
        said = f"{request.method} is not answered here, only {allowed}; /docs lists what there is."
        return Refusal(405, "method_not_allowed", said, {"Allow": allowed})
    return Refusal(error.status_code, "invalid_request", "The request could not be read; see /docs.", error.headers)


def _methods(request: Request, named: str) -> list[str]:
    """What a path can be asked with: several routes may share it, and the framework names the first alone."""
    paths = request.app.openapi()["paths"]
    matching = [path for path in paths if compile_path(path)[0].match(request.url.path)]
    if not matching:  # a file
        return [named]
    return sorted(method.upper() for method in paths[max(matching, key=len)])  # {name}:predict is not a {name}


def _first_of(error: RequestValidationError) -> Refusal:
    """The first thing that is wrong with a request, as a sentence; a misspelt key before one that is missing."""
    problem = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    place, kind = problem["loc"], problem["type"]
    name = _spelled(place[1:]) or WHOLE
    if kind == "missing":
        how = "send a JSON object" if name == WHOLE else "give it"
        return invalid(f"{name} is missing; {how}, as /docs says.")
    if kind == "extra_forbidden":
        key = str(place[-1])
        others = [each for each in KEYS if each != key]
        return invalid(f"There is no key {shown(key)} here; leave it out.{nearest(key, others)}")
    said = str(problem["msg"]).removeprefix("Value error, ")
    return invalid(f"{name} is wrong: {_lower(said)}.")


def _spelled(place: Sequence[Any]) -> str:
    """`texts[0]`, of the steps that lead to a value; what pydantic names the members of a union is left out."""
    name = ""
    for step in place:
        if isinstance(step, int):
            name += f"[{step}]"
        elif step.isidentifier() and step not in ("str", "int", "list"):
            name += f".{step}" if name else step
    return name


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
