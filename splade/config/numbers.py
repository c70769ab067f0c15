"""Settings that are numbers, and flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, Strict
from pydantic.functional_validators import AfterValidator, BeforeValidator, WrapValidator

ALL_ROWS = -1  # the seeds' way to say "the whole split"


def _no_bool(value: object) -> object:
    # Python counts True as the number 1; in a settings file `learning_rate: true` is a slip.
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _sample_count(value: int) -> int:
    if value != ALL_ROWS and value < 1:
        raise ValueError("must be -1 (all rows) or a whole number above 0")
    return value


def _auto_or(value: object, check: Callable[[object], object]) -> object:
    return value if is_auto(value) else check(value)


def is_auto(rate: object) -> bool:
    """Whether a learning rate is still to be found."""
    return rate == "auto"


Flag = Annotated[bool, Strict()]
PositiveInt = Annotated[int, Strict(), Field(gt=0)]
NonNegativeInt = Annotated[int, Strict(), Field(ge=0)]
Samples = Annotated[int, Strict(), AfterValidator(_sample_count)]
# Not strict: YAML 1.1 reads `3e-4` as a string, and everybody means the number.
Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]
Share = Annotated[Number, Field(gt=0, le=1)]
ShareBelowOne = Annotated[Number, Field(gt=0, lt=1)]
# A number, or "auto" until a training has found one.
PositiveOrAuto = Annotated[Positive, WrapValidator(_auto_or)]
