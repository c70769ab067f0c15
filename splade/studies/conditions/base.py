"""Conditions: ways to make a biased model less so, and controls for them, run on the same texts. One class each, behind
`CONDITIONS`.

A condition is codes (what is left of a text), a transformation of them if need be, and a head (as it was, or learned
again on the training texts' codes). What it gives is a score a text; `splade.evaluation.bias` compares these.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from splade.config.surgery import SurgeryConfig
from splade.evaluation.positive_scores import log_odds
from splade.models.lexical_sae import LexicalSAE
from splade.models.removal import Removal
from splade.registry import Registry
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import Codes, Transform, View, logits_of
from splade.surgery.refit import HeadWeights, Labelled, RefitSettings, Refitted, refit_head, with_head

CONDITIONS: Registry[type[Condition]] = Registry("condition")

ORDER = (
    *("baseline", "refit", "suppression", "suppression_refit", "random", "random_refit"),
    *("leace_hidden", "leace_hidden_refit", "leace_tokens", "leace_tokens_refit"),
    *("term_blind", "term_blind_refit", "balanced"),
)
"""In which conditions are shown; others come after them."""

PLAIN = "plain"
"""The view of texts as they are."""


@dataclass(frozen=True)
class ChosenWords:
    """The words that are removed, and how they were chosen."""

    words: list[str]
    """In the order in which they were chosen."""
    removal: Removal
    how: str
    """A sentence."""
    steps: list[dict[str, Any]]
    """What was tried on the way, the figures that decided among them."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ChosenWords:
        """What was written down of a choice."""
        return cls(values["words"], Removal.from_json(values["removal"]), values["how"], values["steps"])


@dataclass
class Bench:
    """What conditions work on."""

    model: LexicalSAE
    settings: SurgeryConfig
    positive: np.ndarray
    """(C,) bool, the positive classes."""
    training: CodedTexts
    validation: CodedTexts
    tests: dict[str, CodedTexts]
    seed: int
    blind: Callable[[CodedTexts], Codes]
    """The codes of texts without the terms for groups."""
    chosen: ChosenWords | None = None
    start: HeadWeights | None = None
    """The head of the baseline where it is not the model's own."""
    say: Callable[[str], None] = lambda sentence: None

    @property
    def parts(self) -> dict[str, CodedTexts]:
        """All texts that are scored."""
        return {"validation": self.validation, **self.tests}

    @property
    def words(self) -> ChosenWords:
        """Those chosen; a condition that removes them is run after the choice."""
        assert self.chosen is not None
        return self.chosen

    def head(self, weights: HeadWeights | None = None) -> AbstractContextManager[None]:
        """Within, the head has some weights; None: those that it begins with."""
        wanted = self.start if weights is None else weights
        return nullcontext() if wanted is None else with_head(self.model, wanted)

    def scores(
        self, codes: Codes, transform: Transform | None = None, weights: HeadWeights | None = None
    ) -> np.ndarray:
        """(N,) the log-odds of the positive classes."""
        with self.head(weights):
            return log_odds(logits_of(self.model, codes, transform), self.positive)

    def refit(
        self,
        codes: Callable[[CodedTexts], Codes],
        transform: Transform | None = None,
        weights: Callable[[CodedTexts], np.ndarray | None] = lambda part: None,
    ) -> Refitted:
        """A head that has learned on the training texts as a condition leaves them; `weights`: how much each text
        counts, in learning and in the choice of the pass that is kept."""
        training = Labelled(codes(self.training), self.training.labels, weights(self.training))
        validation = Labelled(codes(self.validation), self.validation.labels, weights(self.validation))
        with self.head():
            return refit_head(
                self.model,
                training,
                validation,
                self.settings.of(RefitSettings),
                seed=self.seed,
                transform=transform,
            )


@dataclass(frozen=True)
class Ran:
    """What one condition, or one draw of it, gave."""

    name: str
    scores: dict[str, np.ndarray]
    """(N,) of each part."""
    refit_epoch: int | None
    """Of the refitted head's weights; None: the head is as it was."""
    notes: list[str]
    removed: list[str]
    """Words."""


class Condition(ABC):
    """Base of all conditions."""

    Settings: ClassVar[type[Any]] = RefitSettings
    title: ClassVar[str]
    about: ClassVar[str]
    """What it does, and what it costs."""
    refits: ClassVar[bool] = False
    on_request: ClassVar[bool] = False
    view_name: ClassVar[str | None] = None
    """What its view of the hidden states is called, where it has one of its own."""

    def __init__(self, bench: Bench):
        self.bench = bench

    @classmethod
    def view(cls, training: CodedTexts) -> tuple[str, View]:
        """The view called `view_name`, and what it is known by; fitted on the training texts' hidden states. Asked only
        of a condition that has one."""
        raise TypeError(f"{cls.__name__} reads the plain view and has none of its own.")

    def codes(self, part: CodedTexts) -> Codes:
        """What it leaves of texts."""
        return part.codes[PLAIN]

    def transform(self) -> Transform | None:
        """What it does to codes before the head."""
        return None

    def text_weights(self, part: CodedTexts) -> np.ndarray | None:
        """(N,) how much each text counts in a refit; None: all the same."""
        return None

    def removed(self) -> list[str]:
        """The words that it takes away."""
        return []

    def run(self) -> Iterator[Ran]:
        """What it gives, once a draw."""
        yield self.ran(name_of(type(self)))

    def ran(self, name: str) -> Ran:
        """Its scores of all parts."""
        transform = self.transform()
        refitted = self.bench.refit(self.codes, transform, self.text_weights) if self.refits else None
        weights = refitted.weights if refitted else None
        scores = {
            each: self.bench.scores(self.codes(part), transform, weights) for each, part in self.bench.parts.items()
        }
        return Ran(name, scores, refitted.epoch if refitted else None, self.notes(), self.removed())

    def notes(self) -> list[str]:
        """Sentences that a reader should not miss."""
        return []


def name_of(condition: type[Condition]) -> str:
    """The name that a condition is registered under."""
    return next(name for name in CONDITIONS.names() if CONDITIONS.get(name) is condition)


def wanted_conditions(settings: SurgeryConfig) -> list[type[Condition]]:
    """Those that the settings ask for, in the order in which they are registered."""
    every = list(dict.fromkeys([*(name for name in ORDER if name in CONDITIONS.names()), *CONDITIONS.names()]))
    asked = settings.conditions
    chosen = [name for name in every if (not CONDITIONS.get(name).on_request if asked is None else name in asked)]
    return [CONDITIONS.get(name) for name in dict.fromkeys(["baseline", *chosen])]
