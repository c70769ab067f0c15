"""What the model thread is asked: values that say what is wanted of texts, so that equal ones can share a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from splade.apps.server.answers import SPEECH, Json
from splade.apps.server.what_if import WhatIf, what_if
from splade.surgery.targets import token_match, word_match
from splade.tasks import TASKS

if TYPE_CHECKING:
    from splade.apps.server.served import ServedModel


@dataclass(frozen=True)
class Answer:
    """What is said of one text."""

    json: Json
    error: float | None = None
    """The largest error of its sums, where it has any."""


class Question(ABC):
    """Anything asked of texts; two that are equal are answered together."""

    @abstractmethod
    def answer(self, served: ServedModel, items: Sequence[Any], batch_size: int) -> list[Answer]:
        """An answer to each text, as `Task.given` has checked them."""


@dataclass(frozen=True)
class Predict(Question):
    """`/predict` and `/tag`."""

    def answer(self, served: ServedModel, items: Sequence[Any], batch_size: int) -> list[Answer]:
        model = served.model
        found = TASKS.get(model.task).predict_texts(model, items, batch_size)
        return [Answer(SPEECH.get(model.task).predicted(one)) for one in found]


@dataclass(frozen=True)
class Explain(Question):
    """`/explain`."""

    target: str | None = None
    word: int | None = None

    def answer(self, served: ServedModel, items: Sequence[Any], batch_size: int) -> list[Answer]:
        model, task = served.model, TASKS.get(served.model.task)
        found = task.explain_texts(model, items, target=self.target, word=self.word, batch_size=batch_size)
        speech = SPEECH.get(model.task)
        return [Answer(speech.explained(one), speech.error(one)) for one in found]


@dataclass(frozen=True)
class Suppress(Question):
    """`/suppress`."""

    asked: WhatIf

    def answer(self, served: ServedModel, items: Sequence[Any], batch_size: int) -> list[Answer]:
        return [Answer(*what_if(served.model, item, self.asked)) for item in items]


class SurveyQuestion(Question):
    """Asks what the test texts showed, and no text."""

    def answer(self, served: ServedModel, items: Sequence[Any], batch_size: int) -> list[Answer]:
        return [Answer(self.read(served))] * len(items)

    @abstractmethod
    def read(self, served: ServedModel) -> Json:
        """The answer."""


@dataclass(frozen=True)
class AskCircuits(SurveyQuestion):
    """`GET /words`."""

    def read(self, served: ServedModel) -> Json:
        return served.survey.circuits()


@dataclass(frozen=True)
class AskWord(SurveyQuestion):
    """`POST /words`."""

    word: str
    limit: int

    def read(self, served: ServedModel) -> Json:
        match, silent = token_match(served.model, self.word), word_match(served.model, self.word)
        names = list(match.names) if match is not None else []
        known = match is not None or silent is not None
        found = served.survey.word([*names, self.word.strip()], self.word, self.limit)
        return {"word": self.word, "known": known, "names": names, **found}


@dataclass(frozen=True)
class AskMistakes(SurveyQuestion):
    """`/mistakes`."""

    word: str | None
    offset: int
    limit: int

    def read(self, served: ServedModel) -> Json:
        return served.survey.mistakes(self.word, self.offset, self.limit)
