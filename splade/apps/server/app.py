"""The application: routes, files and layers put together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool

from splade import __version__
from splade.apps.server import about_routes, errors, probe_routes, routes
from splade.apps.server.schema_page import schema_page
from splade.apps.server.security import Access, Guard
from splade.apps.server.server import Server
from splade.apps.server.shield import Shield
from splade.apps.server.static import File, add_file, found_files

TITLE = "Lexical-SAE"
SUMMARY = "Text classifiers and taggers whose every prediction is, exactly, a short sum of named words."
SCHEMA, SCHEMA_PAGE = "/openapi.json", "/docs"

SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""What the framework tells OpenTelemetry of requests, whose bodies hold texts: nothing."""


def create_app(server: Server, access: Access) -> FastAPI:
    """The application of a server, which it starts and ends with its own."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        server.start()
        yield
        await run_in_threadpool(server.drain)

    app = FastAPI(
        title=TITLE,
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=SILENT,
    )
    app.state.server = server
    for part in (routes, about_routes, probe_routes):
        app.include_router(part.router)
    errors.install(app)
    schema = openapi(app)
    app.openapi = lambda: schema  # type: ignore[method-assign]
    files: dict[str, Any] = found_files()
    files[SCHEMA] = File(json.dumps(schema, indent=1).encode(), "application/json")
    files[SCHEMA_PAGE] = File(schema_page(schema).encode(), "text/html; charset=utf-8")
    for path, file in files.items():
        add_file(app, path, file)
    layers: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (Guard, {"access": access, "public": files}),
        (Shield, {"metrics": server.metrics, "limits": server.limits}),
    ]
    for layer, settings in layers:  # the last is the outermost
        app.add_middleware(layer, **settings)
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """The schema of the interface, as `openapi.json` has it."""
    schema = get_openapi(title=TITLE, version=__version__, summary=SUMMARY, routes=app.routes)
    schema["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    schema["security"] = [{}, {"bearer": []}, {"header": []}]  # none of a server that listens to its machine alone
    return schema
