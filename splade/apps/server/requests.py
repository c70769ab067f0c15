"""What may be asked, field by field; `docs/api.md` says it in words. A field that is not here is refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from splade.apps.server.limits import MOST_CHARACTERS, MOST_REMOVED, MOST_TEXTS


def _whole(value: Any) -> Any:
    """To JSON 3.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, StringConstraints(strict=True, max_length=MOST_CHARACTERS)]
Name = Annotated[str, StringConstraints(strict=True, max_length=1_000)]
"""Of a model, a label, a token or a word."""
Words = Annotated[list[Text], Field(max_length=MOST_CHARACTERS // 2)]
Number = Annotated[int, Field(strict=True, ge=0, le=MOST_CHARACTERS), BeforeValidator(_whole)]
"""Of a word in a text."""
Column = Annotated[int, Field(strict=True, ge=0, lt=2**31), BeforeValidator(_whole)]
"""A token by its number."""

Texts = Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]
Sentence = Text | Words
Sentences = Annotated[list[Sentence], Field(min_length=1, max_length=MOST_TEXTS)]


def _few(most: int) -> Any:
    return Annotated[int, Field(strict=True, ge=1, le=most), BeforeValidator(_whole)]


class Asked(BaseModel):
    """Any request."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=())

    model: Name | None = None
    """Name of a model; null: the first that is served."""


class PredictRequest(Asked):
    """What is this?"""

    texts: Texts


class TagRequest(Asked):
    """Which entities are named?"""

    texts: Sentences
    """Each a string, or a list of its words."""


class ExplainRequest(Asked):
    """Why?"""

    texts: Sentences
    """Each a string; of a tagger also a list of its words."""
    target: Name | None = None
    """The label whose logit is written as a sum; null: the predicted one."""
    word: Number | None = None
    """Of a tagger: the word of each text to explain; null: all words of entities."""


class SuppressRequest(Asked):
    """What if?"""

    text: Sentence
    """A string; of a tagger also a list of its words."""
    shut: Annotated[list[Name | Column], Field(max_length=MOST_REMOVED)] = []
    """Tokens, by name or by number."""
    silence: Annotated[list[Name], Field(max_length=MOST_REMOVED)] = []
    """Words."""
    delete: Annotated[list[Number], Field(max_length=MOST_REMOVED)] = []
    """Numbers of words of the text."""
    target: Name | None = None
    """The label to explain before and after; null: the one predicted before."""
    word: Number | None = None
    """Of a tagger: the word to explain; null: all words of entities."""


class WordRequest(Asked):
    """What does this word say?"""

    word: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]
    limit: _few(50) = 10  # type: ignore[valid-type]
    """Sentences."""


class MistakesRequest(Asked):
    """What did the model get wrong?"""

    word: Name | None = None
    """Only those that this word misled."""
    offset: Number = 0
    limit: _few(100) = 20  # type: ignore[valid-type]


class Instance(BaseModel):
    """A text as an object."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Sentence


class KServeRequest(BaseModel):
    """KServe V1."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    instances: Annotated[list[Sentence | Instance], Field(min_length=1, max_length=MOST_TEXTS)]
    """Texts, each alone or as `{"text": …}`."""

    @property
    def texts(self) -> list[str | list[str]]:
        return [one.text if isinstance(one, Instance) else one for one in self.instances]


KEYS = sorted(
    {
        key
        for asked in (
            PredictRequest,
            TagRequest,
            ExplainRequest,
            SuppressRequest,
            WordRequest,
            MistakesRequest,
            KServeRequest,
        )
        for key in asked.model_fields
    }
)
"""Of all requests, for whoever misspells one."""
