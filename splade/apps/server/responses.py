"""What is answered, for the schema; `docs/api.md` says it in words. The answers themselves are written by `answers`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

ByLabel = dict[str, float]


class Answered(BaseModel):
    """Any answer; a key that is not here is none of the interface."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class ErrorDetail(Answered):
    status: int
    code: str
    message: str
    """One sentence, to be shown as it is."""


class ErrorBody(Answered):
    """A refusal."""

    error: ErrorDetail


class Span(Answered):
    start: int
    """In code points."""
    end: int
    utf16_start: int
    """In UTF-16 code units."""
    utf16_end: int


class TokenPart(Answered):
    token: str
    score: float


class Word(Span):
    number: int | None
    """From 0; null: what belongs to no word."""
    word: str
    score: float
    tokens: list[TokenPart]


class NearWord(Word):
    offset: int


class Token(Answered):
    token: str
    score: float
    value: float
    position: int


class NearToken(Answered):
    token: str
    score: float
    value: float
    number: int | None


class Prediction(Answered):
    text: str
    label: str
    probabilities: ByLabel
    active_tokens: int
    truncated: bool


class Entity(Span):
    type: str
    text: str
    words: list[int]
    probability: float


class TaggedWord(Span):
    number: int
    word: str
    tag: str
    probability: float
    probabilities: ByLabel
    active_tokens: int
    truncated: bool


class TaggedText(Answered):
    text: str
    entities: list[Entity]
    words: list[TaggedWord]


class Explanation(Answered):
    text: str
    label: str
    target: str
    logits: ByLabel
    probabilities: ByLabel
    bias: float
    constant_bias: bool
    truncated: bool
    active_tokens: int
    words: list[Word]
    tokens: list[Token]


class ExplainedWord(Answered):
    number: int
    label: str
    target: str
    logits: ByLabel
    probabilities: ByLabel
    bias: float
    constant_bias: bool
    words: list[NearWord]
    tokens: list[NearToken]


class ExplainedText(TaggedText):
    explained: list[ExplainedWord]


class Predictions(Answered):
    model: str
    predictions: list[Prediction]


class TaggedTexts(Answered):
    model: str
    texts: list[TaggedText]


class Explanations(Answered):
    model: str
    explanations: list[Explanation | ExplainedText]


class LabelChange(Answered):
    before: str
    after: str


class LogitChange(Answered):
    before: float
    deletion: float
    direct: float
    mask: float
    after: float


class TokenChange(Answered):
    token: str
    before: float
    after: float
    direct: ByLabel


class Effect(Answered):
    number: int | None
    label: LabelChange
    flipped: bool
    logits: dict[str, LogitChange]
    tokens: list[TokenChange]


class Target(Answered):
    asked: str | int
    operation: Literal["shut", "silence"]


class MatchedTarget(Target):
    names: list[str]


class WhatIf(Answered):
    model: str
    text: str
    shorter: str | None
    target: str | None
    head_only: bool
    before: Explanation | ExplainedText
    after: Explanation | ExplainedText
    effects: list[Effect]
    matched: list[MatchedTarget]
    unmatched: list[Target]


class KServePredictions(Answered):
    predictions: list[Prediction | TaggedText]


class KServeExplanations(Answered):
    explanations: list[Explanation | ExplainedText]


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": said}
    for status, said in {
        400: "The body is no JSON in UTF-8.",
        401: "An API key is asked for.",
        403: "Another host's or another origin's request.",
        404: "No such model.",
        408: "The body did not arrive in time.",
        413: "Beyond a limit.",
        415: "The body is not declared as JSON.",
        422: "A field is wrong, or the model does something else.",
        429: "The queue is full; see Retry-After.",
        500: "The server's own mistake.",
        503: "The server is ending, or the answer took too long.",
    }.items()
}
"""Every refusal there is, for the schema."""
