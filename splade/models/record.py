"""What a saved model's settings must say, checked once when they are read; the rest of the program believes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, model_validator

from splade.config.numbers import NonNegativeInt
from splade.config.schema import ModelConfig, Task
from splade.config.texts import Text
from splade.data.tasks import TASK_DATA
from splade.errors import ModelError
from splade.models.folder import KINDS, SETTINGS, Kind

FORMAT = 5
"""Raised when a saved model's files change so that older code could not read them."""

HASHED_FROM = 3
"""The first format whose hash covers more than the weights."""


class SavedModel(BaseModel):
    """The settings of a saved model; what else stands beside them is the record of its training."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    format: Annotated[int, Strict()]
    kind: Kind = "lexical_sae"
    model: ModelConfig
    task: Task = "classification"
    labels: Annotated[list[Text], Field(min_length=2)]
    max_length: Annotated[int, Strict(), Field(ge=3)]
    head: Literal["trained", "repaired"]
    sense_tokens: list[NonNegativeInt] = []
    open_words: NonNegativeInt = 0
    frequent_open_words: NonNegativeInt = 0
    shut_words: list[list[NonNegativeInt]] = []
    silenced_words: list[Text] = []
    versions: dict[str, str] = {}
    files: dict[str, str] = {}
    sha256: str = ""

    @model_validator(mode="after")
    def _check_labels(self) -> SavedModel:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("'labels' names one twice")
        if problem := TASK_DATA.get(self.task).labels.problem(self.labels):
            raise ValueError(problem)
        return self


def check_format(folder: Path, settings: dict[str, Any]) -> None:
    """Refuse a model of another format than this version writes."""
    written = settings.get("format")
    if written == FORMAT:
        return
    advice = "train it again, or use the version of lexical-sae that wrote it"
    if isinstance(written, int) and written < HASHED_FROM:
        advice = f"take it over with 'lexical-sae rehash --model {folder}', or train it again"
    raise ModelError(f"{folder} was written in format {written}, and this version reads format {FORMAT}; {advice}.")


def check_settings(folder: Path, settings: dict[str, Any], kind: Kind) -> SavedModel:
    """The settings of a model of some kind, as typed values."""
    try:
        saved = SavedModel.model_validate(settings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise ModelError(
            f"{folder / SETTINGS} cannot be used: {f'{key}: ' if key else ''}{said}; copy or train the model again."
        ) from None
    if saved.kind != kind:
        what, advice = KINDS[kind]
        raise ModelError(f"{folder} holds a {KINDS[saved.kind][0]}, and a {what} was expected; {advice}.")
    return saved
