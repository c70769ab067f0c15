"""The settings of an experiment of several runs."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any

from pydantic import Field, Strict
from pydantic.dataclasses import dataclass
from pydantic.functional_validators import AfterValidator

from splade.config.numbers import NonNegativeInt, PositiveInt
from splade.config.texts import Text
from splade.config.variants import SETTINGS


def _different(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("must not name a number twice")
    return values


@dataclass(config=SETTINGS, frozen=True)
class StudyConfig:
    """An experiment of several runs (``lexical-sae study``). A single run does not look at it."""

    seeds: Annotated[list[NonNegativeInt], Field(min_length=1), AfterValidator(_different)] | None = None
    """Seeds that every variation is run with, or, among a variation's settings, that one; null: ``seed`` alone."""
    variations: dict[Text, dict[Text, Any]] = field(default_factory=dict)
    """What is compared: a name, and under it the ``section.key: value`` that differ from the settings of the file."""
    grid: dict[Text, Annotated[list[Any], Field(min_length=1)]] = field(default_factory=dict)
    """``section.key: [values]`` of which every combination is compared too; a variation with the name of a combination
    adds settings to it. With neither, a study compares what it is named for."""
    lengths: Annotated[list[Annotated[int, Strict(), Field(ge=16)]], Field(min_length=1)] | None = None
    """Text lengths of ``long_context``, in tokens; null: doubling from 64 up to what the backbone reads."""
    needles: PositiveInt = 40
    """Test texts that ``long_context`` hides in filler."""
    explained: PositiveInt = 32
    """Test texts that ``sota_comparison`` explains to take the time."""
