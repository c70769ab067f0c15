"""What is asked of models: what they are, what they have learned, and what they get wrong."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from splade.apps.server import about_responses, responses
from splade.apps.server.bodies import StrictRoute
from splade.apps.server.questions import AskCircuits, AskMistakes, AskWord
from splade.apps.server.requests import MistakesRequest, WordRequest
from splade.apps.server.routes import answers
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server, answered, server_of

router = APIRouter(route_class=StrictRoute, responses=responses.REFUSALS, tags=["models"])

Name = Annotated[
    str | None, Query(max_length=1_000, description="Name of a model; left out: the first that is served.")
]


async def _ask(request: Request, server: Server, served: ServedModel, question: Any) -> Response:
    """Ask what has been read of the test texts, which is the model thread's own."""
    [found] = await server.ask(request, served, question, [""])
    return answered({"model": served.name, **found})


@router.get("/models", summary="All models", **answers(about_responses.ModelList, "By name."))
async def models(request: Request) -> Response:
    """The models that are served."""
    known = server_of(request).models
    return answered({"default": known.default.name, "models": [one.brief for one in known.all.values()]})


@router.get("/model", summary="One model", **answers(about_responses.ModelAbout, "What it is."))
async def model(request: Request, model: Name = None) -> Response:
    """Labels, settings, figures of the run, and removals on record."""
    return answered(server_of(request).models.get(model).about)


@router.get("/words", summary="Labels in words", **answers(about_responses.Circuits, "One a label."))
async def words(request: Request, model: Name = None) -> Response:
    """What each label means to the model: the vocabulary tokens that add most to it."""
    server = server_of(request)
    return await _ask(request, server, server.models.get(model), AskCircuits())


@router.post("/words", summary="One word", **answers(about_responses.WordFound, "What it says."))
async def word(request: Request, asked: WordRequest) -> Response:
    """What a word says to each label, and the test texts in which it said most."""
    server = server_of(request)
    return await _ask(request, server, server.models.get(asked.model), AskWord(asked.word, asked.limit))


@router.get("/data", summary="Figures of the run", **answers(about_responses.RunData, "Figures, tables and groups."))
async def data(request: Request, model: Name = None) -> Response:
    """What was measured of the model, groups and gaps among it."""
    served = server_of(request).models.get(model)
    run = served.run
    return answered({"model": served.name, "run": run.to_json(), "tables": run.tables(), "bias": run.bias()})


@router.post("/mistakes", summary="What it gets wrong", **answers(about_responses.Mistakes, "By the word that misled."))
async def mistakes(request: Request, asked: MistakesRequest) -> Response:
    """Test texts with another label than the right one, by the word that pulled most."""
    server = server_of(request)
    question = AskMistakes(asked.word, asked.offset, asked.limit)
    return await _ask(request, server, server.models.get(asked.model), question)


@router.get("/v1/models", tags=["KServe V1"], summary="Names", **answers(about_responses.KServeModels, "All names."))
async def kserve_models(request: Request) -> Response:
    """The names of the models."""
    return answered({"models": list(server_of(request).models.all)})


@router.get(
    "/v1/models/{name}", tags=["KServe V1"], summary="Readiness", **answers(about_responses.KServeModel, "Ready.")
)
async def kserve_model(request: Request, name: str) -> Response:
    """Whether a model answers."""
    server = server_of(request)
    return answered({"name": server.models.get(name).name, "ready": not server.draining})
