"""What is left of explanations when the model is randomised, and what that says."""

from __future__ import annotations

from dataclasses import dataclass

from splade.evaluation.estimate import Estimate
from splade.evaluation.figure import COSINE
from splade.evaluation.paired import FEWEST_TEXTS


@dataclass(frozen=True)
class Stage:
    """Explanations of the randomised model against those of the model; None: no text has enough to compare."""

    size: Estimate | None
    """Rank correlation of |contribution| over the positions of a text that the model's own explanation names."""
    signed: Estimate | None
    """The same of contributions with their sign."""
    size_everywhere: Estimate | None
    """The same of |contribution| over all positions of a text: it also asks which are silent."""
    same_class: float
    """Share of rows that the randomised model gives the same class."""
    silent: float
    """Share of texts at which it explains nothing; their rank correlation counts as 0."""


@dataclass(frozen=True)
class SanityResult:
    """How much of the explanations is left."""

    stages: dict[str, Stage]
    """By what was randomised last, the head first, then additionally the layers from the top."""
    whole: Stage
    """The last of them: head and all layers."""
    texts: int
    """Compared."""
    draws: int


STAYING = {
    "size_everywhere": "the sizes of contributions over all positions of a text, silent ones too",
    "size": "the sizes of contributions at the positions that the model names",
    "signed": "contributions with their sign at the positions that the model names",
}
"""What may stay as it was when the model is randomised, by the figure that tells."""


def what_stays(result: SanityResult) -> list[str]:
    """A sentence on what of an explanation is there with head and layers shuffled, and so was not learned."""
    if result.texts < FEWEST_TEXTS:
        return [
            f"Explanations of {result.texts:,} texts, fewer than {FEWEST_TEXTS}, were compared with those of "
            "randomised models: what stays of them cannot be told."
        ]
    found: dict[str, Estimate | None] = {name: getattr(result.whole, name) for name in STAYING}
    likeness = {name: f"{STAYING[name]}: {_likeness(each)}" for name, each in found.items() if each is not None}
    stays = [said for name, said in likeness.items() if (each := found[name]) is not None and each.low > 0]
    goes = [said for said in likeness.values() if said not in stays]
    if not stays:
        return []
    gone = f" Not told apart from 0, or below it, are {'; '.join(goes)}." if goes else ""
    return [
        "With head and all layers shuffled, explanations are still like the model's own (rank correlation) in "
        f"{'; '.join(stays)}. So much is owed to the text and to which words may speak, and to nothing learned.{gone}"
    ]


def _likeness(found: Estimate) -> str:
    return f"{COSINE.show(found.mean)} (95 %: {COSINE.show(found.low)} to {COSINE.show(found.high)})"
