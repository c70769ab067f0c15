"""What is asked of texts: predictions, entities, sums, and what if."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from splade.apps.server import responses
from splade.apps.server.bodies import StrictRoute
from splade.apps.server.questions import Explain, Predict, Suppress
from splade.apps.server.requests import ExplainRequest, KServeRequest, PredictRequest, SuppressRequest, TagRequest
from splade.apps.server.server import answered, server_of
from splade.apps.server.what_if import WhatIf

router = APIRouter(route_class=StrictRoute, responses=responses.REFUSALS)


def answers(model: Any, said: str) -> dict[str, Any]:
    """How a route declares what it answers, which it writes itself."""
    return {"responses": {200: {"model": model, "description": said}}, "response_class": Response}


@router.post(
    "/predict", tags=["texts"], summary="Labels and probabilities", **answers(responses.Predictions, "One a text.")
)
async def predict(request: Request, asked: PredictRequest) -> Response:
    """Classifiers: the label of each text, and the probabilities of all."""
    server = server_of(request)
    served = server.models.get(asked.model)
    served.check_decides("/predict")
    found = await server.ask(request, served, Predict(), asked.texts)
    return answered({"model": served.name, "predictions": found})


@router.post("/tag", tags=["texts"], summary="Entities", **answers(responses.TaggedTexts, "One a text."))
async def tag(request: Request, asked: TagRequest) -> Response:
    """Taggers: the entities of each text, and the tags of all its words."""
    server = server_of(request)
    served = server.models.get(asked.model)
    served.check_decides("/tag")
    found = await server.ask(request, served, Predict(), asked.texts)
    return answered({"model": served.name, "texts": found})


@router.post("/explain", tags=["texts"], summary="The sum", **answers(responses.Explanations, "One a text."))
async def explain(request: Request, asked: ExplainRequest) -> Response:
    """The logit of the predicted label, or of another, as an exact sum of words and of tokens."""
    server = server_of(request)
    served = server.models.get(asked.model)
    served.check_target(asked.target)
    served.check_word(asked.word)
    found = await server.ask(request, served, Explain(asked.target, asked.word), asked.texts)
    return answered({"model": served.name, "explanations": found})


@router.post("/suppress", tags=["texts"], summary="What if", **answers(responses.WhatIf, "Before and after."))
async def suppress(request: Request, asked: SuppressRequest) -> Response:
    """A text before and after tokens are shut, words silenced or deleted, for this answer alone."""
    server = server_of(request)
    served = server.models.get(asked.model)
    served.check_target(asked.target)
    served.check_word(asked.word)
    removed = WhatIf(tuple(asked.shut), tuple(asked.silence), tuple(asked.delete), asked.target, asked.word)
    [found] = await server.ask(request, served, Suppress(removed), [asked.text])
    return answered({"model": served.name, **found})


@router.post(
    "/v1/models/{name}:predict",
    tags=["KServe V1"],
    summary="Predictions",
    **answers(responses.KServePredictions, "One an instance."),
)
async def kserve_predict(request: Request, name: str, asked: KServeRequest) -> Response:
    """The entries of `/predict`, of a tagger those of `/tag`."""
    server = server_of(request)
    found = await server.ask(request, server.models.get(name), Predict(), asked.texts)
    return answered({"predictions": found})


@router.post(
    "/v1/models/{name}:explain",
    tags=["KServe V1"],
    summary="Sums",
    **answers(responses.KServeExplanations, "One an instance."),
)
async def kserve_explain(request: Request, name: str, asked: KServeRequest) -> Response:
    """The entries of `/explain`."""
    server = server_of(request)
    found = await server.ask(request, server.models.get(name), Explain(), asked.texts)
    return answered({"explanations": found})
