"""What load balancers and Prometheus ask."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from splade.apps.server import about_responses, responses
from splade.apps.server.batching import draining
from splade.apps.server.metrics import CONTENT_TYPE
from splade.apps.server.routes import answers
from splade.apps.server.server import answered, server_of

router = APIRouter(responses=responses.REFUSALS, tags=["running it"])


@router.get("/health", summary="Alive?", **answers(about_responses.Health, "It is."))
async def health() -> Response:
    """Answers while the process does."""
    return answered({"status": "alive"})


@router.get("/ready", summary="Ready?", **answers(about_responses.Ready, "It is."))
async def ready(request: Request) -> Response:
    """Answers 503 once the server was told to end."""
    server = server_of(request)
    if server.draining:
        raise draining()
    return answered({"status": "ready", "models": list(server.models.all)})


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "As Prometheus reads it."}
    },
)
async def metrics(request: Request) -> Response:
    """Requests, batches, the queue, and the error of the sums."""
    return Response(server_of(request).metrics.page(), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})
