"""Term-blindness: the words for groups are deleted from the text, or masked, before the model reads it."""

from __future__ import annotations

from typing import Literal

from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.texts import FilePath
from splade.config.variants import SETTINGS
from splade.data.groups import terms_pattern
from splade.data.identity_terms import IDENTITY, load_terms
from splade.studies.conditions.base import CONDITIONS, Condition
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import Codes


@settings_dataclass(config=SETTINGS, frozen=True)
class BlindSettings:
    """Which terms are hidden, and how."""

    blind_terms: FilePath = IDENTITY
    """Terms for groups that ``term_blind`` hides: a file as for ``evaluation.bias_terms``, or ``identity``."""
    blind_by: Literal["delete", "mask"] = "delete"
    """Whether terms are deleted from the text or replaced by the tokenizer's mask token."""


@CONDITIONS.register("term_blind")
class TermBlind(Condition):
    """Terms for groups hidden in the texts that are tested."""

    title = "term-blind"
    about = (
        "Names of groups are hidden in the text, so that the backbone does not read them either: it is another text."
    )
    Settings = BlindSettings

    def codes(self, part: CodedTexts) -> Codes:
        return self.bench.blind(part)


@CONDITIONS.register("term_blind_refit")
class TermBlindRefit(TermBlind):
    """The same in training: the head learns again on texts without these terms."""

    title = "term-blind + refit"
    about = "Names of groups are hidden in the training texts too, and the head learns again on them."
    refits = True


def without_terms(text: str, settings: BlindSettings, mask: str) -> str:
    """A text whose terms for groups are hidden."""
    terms = [term for of_group in load_terms(settings.blind_terms).values() for term in of_group]
    hidden = terms_pattern(terms).sub(mask if settings.blind_by == "mask" else "", text)
    return " ".join(hidden.split()) if hidden != text else text
