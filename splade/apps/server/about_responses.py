"""What is answered about models, for the schema; `docs/api.md` says it in words."""

from __future__ import annotations

from typing import Literal

from splade.apps.server.responses import Answered


class BriefModel(Answered):
    name: str
    task: str
    labels: list[str]
    max_length: int


class ModelList(Answered):
    default: str
    models: list[BriefModel]


class RunFact(Answered):
    name: str
    value: str


class RunFigure(Answered):
    key: str
    title: str
    about: str
    value: float | None
    shown: str
    beside: str
    better: Literal["higher", "lower"] | None
    headline: bool


class RunFigures(Answered):
    available: bool
    reason: str | None
    about: list[RunFact]
    figures: list[RunFigure]
    findings: list[str]


class ModelSettings(Answered):
    support: list[str]
    gate: str
    pooling: str
    head: str
    context: int
    topk_per_position: int


class RemovedNames(Answered):
    tokens: list[str]
    words: list[str]


class RemovalRecord(Answered):
    number: int
    operation: str
    when: str
    person: str
    role: str
    reason: str
    purpose: str
    removed: list[str]
    silenced: list[str]
    undoes: int | None


class ModelAbout(BriefModel):
    hash: str
    precision: str
    vocabulary: int
    settings: ModelSettings
    removed: RemovedNames
    record: list[RemovalRecord]
    run: RunFigures


class SurveyState(Answered):
    available: bool
    reason: str | None
    texts: int
    of: int
    read: int
    done: bool
    rows: int
    unit: str
    scale: float | None


class CircuitWord(Answered):
    word: str
    mean: float
    spread: float
    rows: int


class Circuit(Answered):
    label: str
    rows: int
    words: list[CircuitWord]


class Circuits(Answered):
    model: str
    source: Literal["survey", "results"] | None
    survey: SurveyState
    circuits: list[Circuit]


class LabelStatistics(Answered):
    label: str
    mean: float
    spread: float
    rows: int


class MaybePlace(Answered):
    word: str | None
    start: int | None
    end: int | None
    utf16_start: int | None
    utf16_end: int | None


class Sentence(MaybePlace):
    text: str
    number: int | None
    label: str
    gold: str
    target: str
    score: float


class WordFound(Answered):
    model: str
    word: str
    known: bool
    names: list[str]
    survey: SurveyState
    labels: list[LabelStatistics]
    sentences: list[Sentence]
    similar: list[str]


class RunTable(Answered):
    section: str
    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    note: str


class Estimate(Answered):
    mean: float
    low: float | None
    high: float | None


class GroupRate(Answered):
    rate: Estimate | None
    gap: Estimate | None
    p: float | None
    detectable: float | None


class Group(Answered):
    name: str
    texts: int | None
    positives: int | None
    negatives: int | None
    fpr: GroupRate | None
    fnr: GroupRate | None


class Bias(Answered):
    measured: bool
    groups: list[Group]


class RunData(Answered):
    model: str
    run: RunFigures
    tables: list[RunTable]
    bias: Bias


class MisleadingWord(Answered):
    word: str
    mistakes: int
    pull: float


class Mistake(MaybePlace):
    text: str
    number: int | None
    gold: str
    label: str
    probability: float
    pull: float | None


class Mistakes(Answered):
    model: str
    survey: SurveyState
    total: int
    rows: int
    words: list[MisleadingWord]
    mistakes: list[Mistake]


class KServeModels(Answered):
    models: list[str]


class KServeModel(Answered):
    name: str
    ready: bool


class Health(Answered):
    status: Literal["alive"]


class Ready(Answered):
    status: Literal["ready"]
    models: list[str]
